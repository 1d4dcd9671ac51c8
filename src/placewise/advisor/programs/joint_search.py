"""The joint search: one form for each kernel of a program, copies between launches counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from placewise.advisor.advice import Advice, Option
from placewise.advisor.finalists import AS_GOOD, Demand, edit_size, frequent_misses
from placewise.advisor.programs.chain import Step
from placewise.advisor.programs.copies import Fill, fills
from placewise.machine import Machine
from placewise.machine.machine import standard_memory
from placewise.model import SAME, Ratio
from placewise.model.uncertainty import ratio_of_sums
from placewise.rewriter.ways.host_buffer import ALIGNMENT
from placewise.space import Placement, Way

MOST_COMBINED = 50_000
"""Most combinations of forms that are all compared. If there are more, each kernel keeps only its
fastest form for each set of arrays in memory that the host fills, since only copies to that memory
make the kernels' choices depend on each other."""
KEPT = 50
"""Number of combinations that are kept, the fastest."""


@dataclass(frozen=True, eq=False)
class AdvisedStep:
    """A launch and the advice on it alone."""

    step: Step
    advice: Advice

    @property
    def present_ns(self) -> float:
        """Predicted time of the kernel as it is, one launch."""
        ms = self.advice.present.timed and self.advice.present.timed.ms
        assert ms, "launches without a time are refused before"
        return ms * 1e6


@dataclass(frozen=True, eq=False)
class KernelForm:
    """One placement of a kernel's parameters, proven and timed at each of its launches."""

    function: str
    placement: Placement
    """What moves; no arrays where the kernel stays as it is."""
    options: tuple[tuple[int, Option], ...]
    """(number of the launch, the option of the advice on it)."""
    size: tuple[int, int]
    """How much of the code the form changes, as numbers to compare."""

    @property
    def moves(self) -> str:
        """What moves, in words; empty where nothing does."""
        return self.placement.in_words if self.placement.spaces else ""


@dataclass(frozen=True, eq=False)
class Combination:
    """A form for each kernel of the program."""

    forms: tuple[KernelForm, ...]
    fills: tuple[Fill, ...]
    nanoseconds: float
    """Predicted time of the whole program, copies included."""
    ratio: Ratio
    """Over that of the program as it is."""

    @property
    def moves(self) -> str:
        """What moves in which kernel, in words; empty where nothing does."""
        return "; ".join(f"{f.moves} in {f.function}" for f in self.forms if f.moves)

    @cached_property
    def by_launch(self) -> dict[int, tuple[KernelForm, Option]]:
        """Form and option of each launch, by number."""
        return {n: (form, option) for form in self.forms for n, option in form.options}

    @property
    def size(self) -> tuple[int, int]:
        """How much of the code all forms together change, as numbers to compare."""
        return sum(f.size[0] for f in self.forms), sum(f.size[1] for f in self.forms)


def combinations_of(
    advised: Sequence[AdvisedStep], rounds: int, machine: Machine
) -> list[Combination]:
    """The fastest combinations of proven forms that fit constant memory together, the fastest
    first; the program as it is among them."""
    by_kernel: dict[str, list[AdvisedStep]] = {}
    for one in advised:
        by_kernel.setdefault(one.step.function, []).append(one)
    filled = frozenset(s.name for s in machine.spaces if s.way.facts.host_filled)
    choices = [_forms(name, steps, filled, machine) for name, steps in by_kernel.items()]
    number = 1
    for forms in choices:
        number *= len(forms)
    if number > MOST_COMBINED:
        choices = [_fastest_of_each_set(forms, filled) for forms in choices]
    steps = [one.step for one in advised]
    weights = {one.step.number: rounds * one.step.launch.times * one.present_ns for one in advised}
    total = sum(weights.values())
    found: list[tuple[float, int, tuple[KernelForm, ...], tuple[Fill, ...], float]] = []
    for chosen in product(*choices):
        moved = _moved(chosen, steps, filled)
        if not _fits(moved, advised, machine):
            continue
        copies = fills(steps, moved, rounds, machine)
        copied = sum(f.nanoseconds for f in copies)
        time = copied + sum(weights[n] * o.ratio for form in chosen for n, o in form.options)
        found.append((time, len(found), chosen, copies, copied))
    kept = sorted(found)[:KEPT]
    present = [f for f in found if not any(form.placement.spaces for form in f[2])]
    kept += [f for f in present if f not in kept]
    shares = {n: weight / total for n, weight in weights.items()}
    return [
        Combination(chosen, copies, time, _ratio(chosen, shares, copied / total))
        for time, _, chosen, copies, copied in kept
    ]


def _ratio(chosen: Sequence[KernelForm], shares: Mapping[int, float], copied: float) -> Ratio:
    """Time of a program in the ``chosen`` forms over its present time. ``shares`` are the shares of
    the present time that the launches take, by number; ``copied`` is the time of added copies over
    the present time."""
    parts = [
        (shares[n], o.judged if form.placement.spaces else SAME)
        for form in chosen
        for n, o in form.options
    ]
    return ratio_of_sums(parts, copied)


def wanted(found: Sequence[Combination], demand: Demand, machine: Machine) -> list[Combination]:
    """Combinations that meet the demand, the one to recommend first: the smallest edit among those
    that are as good as the fastest, then the fastest."""
    good = [
        c
        for c in found
        if c.moves
        and demand.is_met(c.ratio.ratio, c.ratio.faster)
        and not any(frequent_misses(o, machine) for form in c.forms for _, o in form.options)
    ]
    if not good:
        return []
    least = min(c.ratio.ratio for c in good)
    as_good = [c for c in good if c.ratio.ratio <= least * (1 + AS_GOOD)]
    as_good.sort(key=lambda c: (c.size, c.ratio.ratio))
    return [*as_good, *(c for c in good if c not in as_good)]


def _forms(
    function: str, steps: Sequence[AdvisedStep], filled: frozenset[str], machine: Machine
) -> list[KernelForm]:
    """The kernel as it is, then its forms that may gain. These are proven and timed at all launches
    of the kernel, and either faster or with an array in memory that the host fills, which another
    kernel may use, too."""
    nothing = Placement(())
    forms = [
        KernelForm(
            function, nothing, tuple((s.step.number, s.advice.present) for s in steps), (0, 0)
        )
    ]
    tables = [_by_moves(s.advice) for s in steps]
    for placement in tables[0]:
        if any(placement not in table for table in tables):
            continue
        options = tuple(
            (s.step.number, table[placement]) for s, table in zip(steps, tables, strict=True)
        )
        pays = any(o.ratio < 1.0 for _, o in options)
        if pays or any(space in filled for _, space in placement):
            size = edit_size(options[0][1], steps[0].advice.present, machine)
            forms.append(KernelForm(function, placement, options, (size[0], size[1])))
    return forms


def _by_moves(advice: Advice) -> dict[Placement, Option]:
    """Proven and timed options by what they move."""
    now = advice.present.placement
    return {
        o.placement.moved_part(now): o for o in advice.options if o.proven and o.rerun is not None
    }


def _fastest_of_each_set(forms: list[KernelForm], filled: frozenset[str]) -> list[KernelForm]:
    best: dict[frozenset[str], KernelForm] = {}
    for form in forms:
        there = frozenset(a for a, space in form.placement if space in filled)
        kept = best.get(there)
        if kept is None or _mean(form) < _mean(kept):
            best[there] = form
    return [*{id(f): f for f in (forms[0], *best.values())}.values()]


def _mean(form: KernelForm) -> float:
    return sum(o.ratio for _, o in form.options) / len(form.options)


def _moved(
    forms: Sequence[KernelForm], steps: Sequence[Step], filled: frozenset[str]
) -> dict[int, frozenset[str]]:
    """Arrays of the program that each launch reads from memory that the host fills."""
    by_number = {s.number: s for s in steps}
    return {
        number: frozenset(
            by_number[number].arrays[parameter]
            for parameter, space in form.placement
            if space in filled
        )
        for form in forms
        for number, _ in form.options
    }


def _fits(
    moved: dict[int, frozenset[str]], advised: Sequence[AdvisedStep], machine: Machine
) -> bool:
    """Whether the arrays fit constant memory together. An array that several launches use counts
    once."""
    arrays = set().union(*moved.values())
    home = standard_memory(machine, Way.HOST_BUFFER)
    capacity = machine.memory(home).size_bytes if home else None
    if not arrays or capacity is None:
        return True
    sizes = {a: size for one in advised for a, size in one.step.sizes().items()}
    used = max(sum(d.nbytes for _, d in one.step.case.inputs.constants) for one in advised)
    return used + sum(-(-sizes[a] // ALIGNMENT) * ALIGNMENT for a in arrays) <= capacity
