"""Which memory serves the loads of each array, from the simulated caches.

The path model estimates it from reuse distances, as Chen et al. 2017 do: warps take turns, and
caches replace the oldest line. The simulation that ``placewise counters`` uses has the machine's
replacement, sectors and order of warps. Where a form was timed, reports use the simulation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from placewise.advisor.advice import ArrayFacts, Option, Service
from placewise.advisor.forms.timing import LoadHits, Timed
from placewise.machine import Machine


def with_simulated_hits(
    facts: tuple[ArrayFacts, ...], timed: Timed | None, machine: Machine
) -> tuple[ArrayFacts, ...]:
    """``facts`` in which the simulated caches say which memories serve an array's loads, where the
    form was ``timed``; else ``facts`` as they are."""
    hits = _by_array(timed, {})
    return tuple(
        replace(one, service=_served(one.service, hits.get(one.array), machine)) for one in facts
    )


def with_simulated_reasons(option: Option, machine: Machine) -> Option:
    """The option with reasons in which the simulated caches say which memories serve the loads,
    before and after the move. It is unchanged where either form was not timed, since shares found
    in two ways must not be compared."""
    if option.rewritten is None or option.timed is None or option.beside is None:
        return option
    before = _by_array(option.beside, {})
    names = {new: old for old, new in option.rewritten.renamed}
    after = _by_array(option.timed, names)
    if not before or not after:
        return option
    found = tuple(
        replace(
            reason,
            before=_served(reason.before, before.get(reason.array), machine),
            after=_served(reason.after, after.get(reason.array), machine),
        )
        for reason in option.reasons
    )
    return replace(option, reasons=found)


def _by_array(timed: Timed | None, names: Mapping[str, str]) -> dict[str, LoadHits]:
    found: dict[str, LoadHits] = defaultdict(lambda: LoadHits("", 0.0, 0.0, 0.0))
    for hits in timed.loads if timed is not None else ():
        name = names.get(hits.array, hits.array)
        found[name] = found[name] + hits
    return dict(found)


def _served(service: Service, hits: LoadHits | None, machine: Machine) -> Service:
    """The service with the shares that the simulated caches give. It is unchanged for an array that
    is not loaded through data caches."""
    memories = machine.levels(service.space)
    if hits is None or not hits.sectors or machine.space(service.space).way.has_own_memory:
        return service
    near = [m.name for m in memories[:-1] if m.scope == "sm"]
    on_die = [m.name for m in memories[:-1] if m.scope != "sm"]
    if not on_die:
        return service
    # A longer prefetch brings sectors from DRAM that no load asks for: these serve none.
    missed = min(hits.dram, hits.sectors - hits.near)
    shares = [(on_die[-1], 1.0 - (hits.near + missed) / hits.sectors)]
    if near:
        shares.insert(0, (near[0], hits.near / hits.sectors))
    shares.append((memories[-1].name, missed / hits.sectors))
    return replace(service, served=tuple((m, s) for m, s in shares if s > 0.0))
