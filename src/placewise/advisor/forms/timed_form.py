"""Forms that are written and timed, but not run."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.forms.write_form import Form
from placewise.advisor.prepare import Prepared
from placewise.errors import UnsupportedError
from placewise.space import Placement


@dataclass(frozen=True, eq=False)
class TimedForm:
    """A placement written out and timed."""

    placement: Placement
    form: Form
    timed: Timed
    ratio: float
    """Time of the form over that of the present form."""


def timed_form(
    placement: Placement, form: Form | UnsupportedError, prepared: Prepared, present: Timed | None
) -> TimedForm | None:
    """``form``, which is written with ``placement``, with its time; None where it does not compile
    or has no time."""
    if isinstance(form, UnsupportedError) or form.kernel is None:
        return None
    timed = time_form(
        form.kernel,
        form.rewritten.case,
        prepared.machine,
        like=present,
        corrected=prepared.corrected,
    )
    ratio = ratio_of_times(timed, present)
    return None if ratio is None else TimedForm(placement, form, timed, ratio.ratio)
