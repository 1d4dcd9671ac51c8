"""Forms that are written and timed, but not run."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.advisor.forms.same_code import differs_in_marks_alone
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.forms.write_form import Form
from placewise.advisor.prepare import Prepared
from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.kernel import Kernel
from placewise.space import Placement


@dataclass(frozen=True, eq=False)
class TimedForm:
    """A placement written out and timed."""

    placement: Placement
    form: Form
    timed: Timed
    ratio: float
    """Time of the form over that of the present form."""


def time_beside(kernel: Kernel, case: Case, prepared: Prepared, present: Timed | None) -> Timed:
    """Time of ``kernel``, a form of the prepared case, found as that of the present form was; that
    time itself where their machine code differs in nothing that takes time."""
    if present and differs_in_marks_alone(kernel, case, prepared.kernel, prepared.case):
        return present
    # An access window reserves part of L2, which a few blocks alone do not fill: run all blocks.
    return time_form(
        kernel,
        case,
        prepared.machine,
        whole=case.launch.window is not None,
        like=present,
        corrected=prepared.corrected,
    )


def time_of_whole(prepared: Prepared, present: Timed | None) -> Timed:
    """Time of the present form from a run of all blocks, for forms that are timed so. ``present``
    is its time from a slice."""
    return time_form(
        prepared.kernel,
        prepared.case,
        prepared.machine,
        whole=True,
        like=present,
        corrected=prepared.corrected,
    )


def timed_form(
    placement: Placement, form: Form | UnsupportedError, prepared: Prepared, present: Timed | None
) -> TimedForm | None:
    """``form``, which is written with ``placement``, with its time; None where it does not compile
    or has no time."""
    if isinstance(form, UnsupportedError) or form.kernel is None:
        return None
    timed = time_beside(form.kernel, form.rewritten.case, prepared, present)
    ratio = ratio_of_times(timed, present)
    return None if ratio is None else TimedForm(placement, form, timed, ratio.ratio)
