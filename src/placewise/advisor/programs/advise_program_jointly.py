"""Layouts and placements of a whole program searched together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placewise.advisor.advise import FINALISTS
from placewise.advisor.finalists import AS_GOOD, DEMAND, Demand
from placewise.advisor.layouts.advise_jointly import LAYOUTS
from placewise.advisor.programs.advise_program import advise_program
from placewise.advisor.programs.advise_program_layout import (
    advise_program_layout,
    ratio_of_program,
)
from placewise.advisor.programs.program_advice import ProgramAdvice
from placewise.advisor.programs.program_layout_advice import (
    ProgramForm,
    ProgramJointAdvice,
    ProgramLayoutAdvice,
    ProgramLayoutOption,
)
from placewise.choose.layouts import awkwardness
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.programs.program_file import ProgramLike
from placewise.machine import MachineLike
from placewise.progress import Progress, silent


def advise_program_jointly(
    program: ProgramLike,
    machine: MachineLike,
    *,
    finalists: int = FINALISTS,
    demand: Demand = DEMAND,
    nvrtc: str | None = None,
    instruction_limit: int = DEFAULT_LIMIT,
    workers: int = 1,
    progress: Progress = silent,
) -> ProgramJointAdvice:
    """Advise where the arrays of ``program`` should live in each of its kernels on ``machine``, and
    how they should be laid out in all of them, with both searched together.

    Under the present layout and under the fastest others the placements of all kernels are
    searched, written and proven in sequence. Copies between launches and one conversion of the
    arrays count. ``finalists`` placements are written out for each launch under each layout.

    Raises UnsupportedError where the source is not CUDA C++ or the machine's times are not
    predicted, and CaseError, CompileError, MachineError or ExecutionError for bad input.
    """
    layouts = advise_program_layout(
        program, machine, demand=demand, nvrtc=nvrtc, instruction_limit=instruction_limit,
        progress=progress,
    )  # fmt: skip
    forms: list[ProgramForm] = []
    notes = list(layouts.notes)
    for layout in (None, *_fastest(layouts)):
        written = layouts.program
        if layout is not None:
            assert layout.relaid is not None, "a proven layout is written"
            written = layout.relaid.program
        advice = advise_program(
            written, layouts.machine, finalists=finalists, demand=demand, nvrtc=nvrtc,
            instruction_limit=instruction_limit, workers=workers, progress=progress,
        )  # fmt: skip
        notes += [n for n in advice.notes if n not in notes]
        forms += _forms(layouts, layout, advice)
    ranked = tuple(sorted(forms, key=lambda f: f.ratio.ratio))
    return ProgramJointAdvice(layouts, ranked, _recommended(ranked, demand), tuple(notes))


def _fastest(layouts: ProgramLayoutAdvice) -> list[ProgramLayoutOption]:
    """The fastest proven layouts that gain anything."""
    tried = [o for s in layouts.structs for o in s.options if o.proven and o.ratio is not None]
    good = [(o.ratio.ratio, n) for n, o in enumerate(tried) if o.ratio and o.ratio.ratio < 1.0]
    return [tried[n] for _, n in sorted(good)[:LAYOUTS]]


def _forms(
    layouts: ProgramLayoutAdvice, layout: ProgramLayoutOption | None, advice: ProgramAdvice
) -> Iterator[ProgramForm]:
    """The layout as it is, unless it is the present one, and with its proven placements."""
    converted = 0.0
    if layout is not None:
        assert layout.total_ms is not None, "proven layouts are timed"
        assert layout.ratio is not None, "proven layouts are timed"
        converted = (layout.conversion and layout.conversion.milliseconds) or 0.0
        yield ProgramForm(layout, advice, False, layout.total_ms + converted, layout.ratio)
    chosen = advice.recommended
    if chosen is None:
        return
    times = []
    for one in layouts.launches:
        timed = chosen.by_launch[one.step.number][1].timed
        if timed is None or timed.ms is None:
            return
        times.append(timed)
    added = converted + sum(fill.nanoseconds for fill in chosen.fills) * 1e-6
    total = sum(n.launches * (t.ms or 0.0) for n, t in zip(layouts.launches, times, strict=True))
    ratio = ratio_of_program(layouts.launches, times, added)
    yield ProgramForm(layout, advice, True, total + added, ratio)


def _recommended(ranked: Sequence[ProgramForm], demand: Demand) -> ProgramForm | None:
    """The form with the fewest changes, then the simplest layout, among those nearly as fast as the
    fastest."""
    good = [f for f in ranked if demand.is_met(f.ratio.ratio, f.ratio.faster)]
    as_good = [f for f in good if f.ratio.ratio <= good[0].ratio.ratio * (1 + AS_GOOD)]
    return min(
        as_good,
        key=lambda f: (
            f.changes,
            (0, 0) if f.layout is None else awkwardness(f.layout.layout),
            f.ratio.ratio,
        ),
        default=None,
    )
