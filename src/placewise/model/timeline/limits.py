"""Times that each part of a machine would need by itself for a launch: lower bounds, split by
source line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placewise.kernel.binary.sass.instruction import Instruction
from placewise.machine.machine import Machine
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.model.base import PathTime, Term
from placewise.model.evidence.contention import Hottest
from placewise.model.timeline.pace import (
    BLOCKS_PER_CYCLE,
    SAME_ADDRESS_CYCLES,
    SAME_LINE_PER_CYCLE,
    dram_bytes_per_cycle,
    l2_bytes_per_cycle,
)
from placewise.model.timeline.scattered_stores import SCATTERED_STORES, scattered_cycles
from placewise.model.timeline.schedule import LOAD_STORE, TEXTURE, Row, partitions

_LINES = 5
"""Most source lines that are named for each part."""
CONTENTION = "atomics on one address"
BLOCK_SCHEDULER = "block scheduler"
LINE_CONTENTION = "atomics in one line"
NAMES = {LOAD_STORE: "load/store unit", TEXTURE: "texture unit"}


@dataclass(frozen=True, eq=False)
class Work:
    """Work of all blocks of one kind."""

    blocks: int
    """Blocks of the kind in the launch."""
    executions: Mapping[int, float]
    """Warps that execute each instruction, by offset."""
    rows: Mapping[int, Row]
    """Each instruction in a block of this kind, by offset."""


def busiest(kinds: Sequence[Work], busy_sms: int) -> float:
    """The launch's work over the work of the busiest of ``busy_sms`` SMs, at most ``busy_sms``.

    However blocks are assigned, at least one SM has the average number of blocks of a kind rounded
    up, and at least one that of all blocks: at best those with the least work. For 79 blocks of one
    kind on 68 SMs that is 2, so the result is 39.5."""
    work = [sum(k.executions.values()) for k in kinds]
    each = [(w / k.blocks, k.blocks) for k, w in zip(kinds, work, strict=True)]
    most = max(-(-blocks // busy_sms) * one for one, blocks in each)
    left, lightest = -(-sum(k.blocks for k in kinds) // busy_sms), 0.0
    for one, blocks in sorted(each):
        lightest += min(left, blocks) * one
        left -= min(left, blocks)
    most = max(most, lightest)
    return min(float(busy_sms), sum(work) / most) if most else float(busy_sms)


def issue_limits(
    code: tuple[Instruction, ...],
    kinds: Sequence[Work],
    run: SimulatedLaunch,
    sms: float,
) -> list[PathTime]:
    """Times of instruction issue, of the pipes of the SM's partitions, and of the pipes that
    partitions share, on the busiest SM, which has ``1 / sms`` of the launch's work
    (:func:`busiest`)."""
    machine = run.machine
    issue: dict[int, float] = {}
    pipes: dict[str, dict[int, float]] = {}
    per_sm = sms * partitions(machine)
    for kind in kinds:
        for i in code:
            times = kind.executions.get(i.offset, 0.0)
            if not times:
                continue
            row = kind.rows[i.offset]
            issue[i.offset] = issue.get(i.offset, 0.0) + times * row.issue / per_sm
            own = pipes.setdefault(machine.pipes[row.pipe].name, {})
            cycles = times * (row.passes / sms if row.server else row.busy / per_sm)
            own[i.offset] = own.get(i.offset, 0.0) + cycles
            if row.l1_passes:
                of_loads = pipes.setdefault(LOAD_STORE, {})
                of_loads[i.offset] = of_loads.get(i.offset, 0.0) + times * row.l1_passes / sms
    arrays = {t.site.ptx_line: t for t in reversed(run.traffic.sites)}
    parts = [_part("issue", issue, code, {})]
    for name, cycles_of in pipes.items():
        shared = arrays if name in NAMES else {}
        parts.append(_part(NAMES.get(name, f"{name} pipe"), cycles_of, code, shared))
    return parts


def _part(
    name: str,
    cycles: Mapping[int, float],
    code: Iterable[Instruction],
    sites: Mapping[int, SiteTraffic],
) -> PathTime:
    places = {i.offset: i.place for i in code}
    lines: dict[str, float] = {}
    terms = []
    for offset, amount in cycles.items():
        place = places.get(offset)
        if place is not None:
            key = f"{place[0]}:{place[1]}"
            lines[key] = lines.get(key, 0.0) + amount
        site = sites.get(offset)
        if site is not None:
            terms.append(Term(site.array_or_memory, name, False, site.requests, amount))
    return PathTime(name, float(sum(cycles.values())), _joined(terms), _most(lines))


def _joined(terms: Iterable[Term]) -> tuple[Term, ...]:
    """One term for each array."""
    found: dict[tuple[str, str], Term] = {}
    for t in terms:
        key = t.array, t.memory
        before = found.get(key, Term(t.array, t.memory, False, 0.0, 0.0))
        found[key] = Term(
            t.array, t.memory, False, before.transactions + t.transactions, before.cycles + t.cycles
        )
    return tuple(sorted(found.values(), key=lambda t: -t.cycles))


def _most(lines: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(lines.items(), key=lambda item: -item[1])[:_LINES])


def written_share(run: SimulatedLaunch) -> float:
    """Share of stores in the traffic of DRAM."""
    written = run.traffic.dram_sectors_written().value
    fetched = sum(max(0.0, t.dram_sectors.value) for t in run.traffic.sites)
    return written / (written + fetched) if written else 0.0


def block_limit(run: SimulatedLaunch) -> PathTime:
    """Time that the block scheduler needs to start all blocks."""
    return PathTime(BLOCK_SCHEDULER, run.launch.blocks / BLOCKS_PER_CYCLE)


def scattered_time(run: SimulatedLaunch, machine: Machine, sms: float) -> list[PathTime]:
    """Time that stores of parts of sectors add on the busiest SM, which has ``1 / sms`` of the
    launch's work (:func:`busiest`); empty where there are none."""
    terms = []
    lines: dict[str, float] = {}
    for t in run.traffic.sites:
        cycles = scattered_cycles(t, machine, run.traffic.sector_bytes) / sms
        if cycles:
            terms.append(Term(t.array_or_memory, SCATTERED_STORES, False, t.lines, cycles))
            _add_line(lines, t, cycles)
    if not terms:
        return []
    return [PathTime(SCATTERED_STORES, sum(t.cycles for t in terms), _joined(terms), _most(lines))]


def _add_line(lines: dict[str, float], t: SiteTraffic, cycles: float) -> None:
    """Add ``cycles`` to the source line of an instruction, where it is known."""
    if t.site.source_line is not None:
        line = f"{t.site.source_file}:{t.site.source_line}"
        lines[line] = lines.get(line, 0.0) + cycles


def contention_limits(
    run: SimulatedLaunch, machine: Machine, hottest: Mapping[int, Hottest]
) -> list[PathTime]:
    """Times of global atomics that meet at one address, and of those that meet in one line: they
    are served one after the other, whichever SM they are from.

    ``hottest`` has the shares of each atomic's lanes that meet, by the instruction's offset.
    """
    address = {place: found.address for place, found in hottest.items()}
    line = {place: found.line for place, found in hottest.items()}
    each = (machine.l2 and machine.l2.detail.same_address_cycles) or SAME_ADDRESS_CYCLES
    return [
        *_contention(run, address, CONTENTION, 1.0 / each),
        *_contention(run, line, LINE_CONTENTION, SAME_LINE_PER_CYCLE),
    ]


def _contention(
    run: SimulatedLaunch, shares: Mapping[int, float], name: str, per_cycle: float
) -> list[PathTime]:
    terms = []
    lines: dict[str, float] = {}
    for t in run.traffic.sites:
        share = shares.get(t.site.ptx_line, 0.0)
        if share:
            cycles = t.lanes * share / per_cycle
            terms.append(Term(t.array_or_memory, "L2", False, t.lanes * share, cycles))
            _add_line(lines, t, cycles)
    if not terms:
        return []
    return [PathTime(name, sum(t.cycles for t in terms), _joined(terms), _most(lines))]


def bandwidth_limits(run: SimulatedLaunch, machine: Machine) -> list[PathTime]:
    """L2's and DRAM's bandwidth, array by array."""
    sector = run.traffic.sector_bytes
    l2_rate = l2_bytes_per_cycle(machine)
    dram_rate = dram_bytes_per_cycle(machine, written_share(run))
    l2: list[Term] = []
    dram: list[Term] = []
    lines_l2: dict[str, float] = {}
    lines_dram: dict[str, float] = {}
    for t in run.traffic.sites:
        for sectors, rate, name, terms, lines in (
            (t.l2_sectors.value, l2_rate, "L2", l2, lines_l2),
            (t.dram_sectors.value, dram_rate, "DRAM", dram, lines_dram),
        ):
            if sectors > 0 and t.site.space not in ("shared", "constant"):
                cycles = float(sectors * sector / rate)
                terms.append(Term(t.array_or_memory, name, False, sectors, cycles))
                _add_line(lines, t, cycles)
    written = run.traffic.dram_sectors_written().value
    if written:
        dram.append(
            Term("(written back)", "DRAM", False, written, float(written * sector / dram_rate))
        )
    code = run.traffic.instructions.sectors()
    if code:
        l2.append(Term("(machine code)", "L2", False, code, float(code * sector / l2_rate)))
    return [
        PathTime(f"{name} bandwidth", sum(t.cycles for t in terms), _joined(terms), _most(lines))
        for name, terms, lines in (("L2", l2, lines_l2), ("DRAM", dram, lines_dram))
        if terms
    ]
