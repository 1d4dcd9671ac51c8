"""Layouts and placements searched together.

The best layouts are written out; under each of them, and under the present one, the placements are
searched, written, proven and timed anew, since a layout changes what a placement gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placewise.advisor.advice import Advice
from placewise.advisor.advise import FINALISTS, advise
from placewise.advisor.finalists import AS_GOOD, DEMAND, Demand
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.layouts.advise_layout import advise_layout
from placewise.advisor.layouts.joint_advice import JointAdvice, JointForm
from placewise.advisor.layouts.layout_advice import (
    LayoutAdvice,
    LayoutOption,
    MatrixOption,
    TriedLayout,
)
from placewise.cases import CaseLike
from placewise.choose.layouts import SIMPLEST_FIRST
from placewise.errors import UnsupportedError
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import MachineLike
from placewise.progress import Progress, silent

LAYOUTS = 2
"""Number of layouts, the fastest, under which placements are searched. Each takes as long as
``advise``."""


# Public and keyword-only: one parameter for each option.
def advise_jointly(
    case: CaseLike,
    machine: MachineLike,
    *,
    join: Sequence[str] = (),
    finalists: int = FINALISTS,
    demand: Demand = DEMAND,
    nvrtc: str | None = None,
    progress: Progress = silent,
    instruction_limit: int = DEFAULT_LIMIT,
    workers: int = 1,
) -> JointAdvice:
    """Advise where the arrays of ``case`` should live on ``machine`` and how they should be laid
    out, with both searched together.

    ``finalists`` placements are written out under each layout. ``join`` names separate arrays that
    are tried as one array of structs, as in :func:`placewise.advise_layout`. ``workers`` forked
    processes try placements at the same time.

    Raises UnsupportedError where the kernel is not CUDA C++, the machine's times are not predicted
    or arrays cannot be joined, and CaseError, CompileError, MachineError or ExecutionError for bad
    input.
    """
    layouts = advise_layout(
        case, machine, join=join, demand=demand, nvrtc=nvrtc, progress=progress,
        instruction_limit=instruction_limit,
    )  # fmt: skip
    case, machine = layouts.case, layouts.machine
    present = time_form(compile_case(case), case, machine)
    if present.ms is None:
        raise UnsupportedError(
            f"layouts and placements are compared by their times: {present.why_not}",
            where=machine.name,
            hint="run placewise advise and placewise layout one after the other",
        )
    forms: list[JointForm] = []
    notes = list(layouts.notes)
    for layout, written in ((None, case), *_fastest(layouts)):
        advice = advise(
            written, machine, finalists=finalists, demand=demand, undo=False, members=False,
            nvrtc=nvrtc, instruction_limit=instruction_limit, workers=workers, progress=progress,
        )  # fmt: skip
        notes += [n for n in advice.notes if n not in notes]
        forms += _forms(layout, written, advice, present)
    ranked = tuple(sorted(forms, key=lambda f: f.ratio.ratio))
    return JointAdvice(
        case, machine, layouts, present, ranked, _recommended(ranked, demand), tuple(notes)
    )


def _fastest(layouts: LayoutAdvice) -> Iterator[tuple[TriedLayout, Case]]:
    """The fastest proven layouts that gain anything, with their cases."""
    tried: list[LayoutOption | MatrixOption] = [o for s in layouts.structs for o in s.options]
    tried += layouts.matrices.options if layouts.matrices is not None else ()
    good = [(o.ratio.ratio, n) for n, o in enumerate(tried) if o.proven and o.ratio is not None]
    for ratio, number in sorted(good)[:LAYOUTS]:
        option = tried[number]
        written = option.relaid if isinstance(option, LayoutOption) else option.reordered
        if ratio < 1.0 and written is not None:
            yield option, written.case


def _forms(
    layout: TriedLayout | None, written: Case, advice: Advice, present: Timed
) -> Iterator[JointForm]:
    """The layout without any move, unless it is the present layout, and then its proven
    placements."""
    if layout is not None and layout.timed is not None and layout.ratio is not None:
        yield JointForm(layout, advice, None, written, layout.timed, layout.ratio)
    for option in advice.options:
        ratio = ratio_of_times(option.timed, present)
        if option.proven and option.timed and ratio is not None and option.rewritten is not None:
            yield JointForm(layout, advice, option, option.rewritten.case, option.timed, ratio)


def _recommended(ranked: tuple[JointForm, ...], demand: Demand) -> JointForm | None:
    """The form with the fewest changes, then the simplest layout, among those nearly as fast as the
    fastest."""
    good = [f for f in ranked if demand.is_met(f.ratio.ratio, f.ratio.faster)]
    as_good = [f for f in good if f.ratio.ratio <= good[0].ratio.ratio * (1 + AS_GOOD)]
    return min(as_good, key=lambda f: (f.changes, _awkwardness(f), f.ratio.ratio), default=None)


def _awkwardness(form: JointForm) -> int:
    """How much harder the form's layout is to work with than the present one, as a number to
    compare."""
    kind = "AoS" if form.layout is None else form.layout.kind
    return SIMPLEST_FIRST.index(kind) if kind in SIMPLEST_FIRST else 1
