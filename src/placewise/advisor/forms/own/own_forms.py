"""Forms that differ from the present one in arrays that the source itself declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from placewise.advisor.advice import Option
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.timed_form import time_beside
from placewise.advisor.forms.timing import ratio_of_times
from placewise.advisor.forms.verify import verify
from placewise.advisor.prepare import Prepared
from placewise.errors import PlacewiseError
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import Machine
from placewise.progress import Progress
from placewise.rewriter.rewritten import Rewritten
from placewise.space import Way

MOST = 4
"""Arrays of a kernel that are tried in another memory."""
T = TypeVar("T")


def global_space(machine: Machine) -> str:
    """What the machine calls the space of arrays that are indexed as they come."""
    return next((s.name for s in machine.spaces if s.way is Way.DIRECT), "global")


def shared_space(machine: Machine) -> str:
    """What the machine calls the memory that the threads of a block share."""
    return next((s.name for s in machine.spaces if s.way.facts.per_block), "shared")


def tried_own(
    step: str, own: Sequence[T], write: Callable[[T], Rewritten], prepared: Prepared,
    present: Option, progress: Progress,
) -> dict[T, Option]:  # fmt: skip
    """An option for each of ``own``, in their order, that ``write`` could write in another way and
    that was proven and timed. ``write`` raises PlacewiseError where it cannot; ``step`` is what the
    user is told meanwhile."""

    def one(array: T) -> Option | None:
        try:
            return _form(write(array), prepared, present)
        except PlacewiseError:
            return None

    progress(step, 0, len(own))
    found: dict[T, Option | None] = dict.fromkeys(own)
    for done, (array, option) in enumerate(tried(own, one, prepared, present.timed), start=1):
        progress(step, done, len(own))
        found[array] = option
    return {array: option for array, option in found.items() if option is not None}


def with_spaces(present: Option, spaces: Iterable[tuple[str, str]]) -> Option:
    """The present form with the places of arrays of the source itself in its placement, too."""
    placement = replace(present.placement, spaces=(*present.placement.spaces, *spaces))
    return replace(present, placement=placement)


def _form(rewritten: Rewritten, prepared: Prepared, present: Option) -> Option | None:
    """The form as an option; None where it computes something else or has no time. Raises
    PlacewiseError where it does not compile."""
    kernel = compile_case(rewritten.case)
    verification = verify(rewritten, prepared.case, prepared.execution, kernel)
    timed = time_beside(kernel, rewritten.case, prepared, present.timed)
    rerun = ratio_of_times(timed, present.timed)
    if not verification.identical or rerun is None:
        return None
    return Option(
        placement=replace(
            rewritten.placement,
            spaces=(*present.placement.spaces, *rewritten.placement.spaces),
        ),
        prediction=present.prediction,
        traffic=present.traffic,
        measured_ms=present.measured_ms,
        rewritten=rewritten,
        verification=verification,
        timed=timed,
        beside=present.timed,
        rerun=rerun,
    )
