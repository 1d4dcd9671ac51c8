"""Options written out, compiled, and timed from their own machine code. Those that gain are run on
the case's own inputs, and their outputs are compared with those of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from placewise.advisor.advice import Option, Verification
from placewise.advisor.explain.hint_notes import fates_of
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.same_code import is_same_launch
from placewise.advisor.forms.timed_form import TimedForm, time_beside, time_of_whole, timed_form
from placewise.advisor.forms.timing import Timed, ratio_of_times
from placewise.advisor.forms.verify import verify
from placewise.advisor.forms.write_form import Form, write_forms
from placewise.advisor.prepare import Prepared
from placewise.errors import UnsupportedError
from placewise.progress import Progress
from placewise.space import Placement


# One parameter for each thing that callers choose.
def prove(
    chosen: Sequence[int],
    options: list[Option],
    prepared: Prepared,
    present: Option,
    progress: Progress,
    *,
    known: Mapping[Placement, TimedForm] = MappingProxyType({}),
    beside: Sequence[Placement] = (),
    slower: bool = False,
) -> list[TimedForm]:
    """Rewrite, time and run the options at the positions ``chosen``, and replace them by the
    results. Forms in ``known`` are written and timed already, so this is not done again. Forms that
    are predicted to gain nothing are run only with ``slower``.

    The placements ``beside`` are written and timed at the same time, but not run: returns the forms
    of those that compile and have a time.
    """
    unwritten = [p for p in (options[at].placement for at in chosen) if p not in known]
    forms = write_forms(prepared, [*unwritten, *beside], present.timed, progress)

    def one(task: int | Placement) -> Option | TimedForm | Timed | None:
        if task == present.placement:
            return time_of_whole(prepared, present.timed)
        if isinstance(task, Placement):
            return timed_form(task, forms[task], prepared, present.timed)
        timed = known.get(options[task].placement)
        form = timed.form if timed else forms[options[task].placement]
        return _proven(options[task], form, prepared, present, timed, slower)

    tasks: list[int | Placement] = [*beside, *chosen]
    # Fills of tiles take longest, and a long task at the end would be waited for alone.
    shared = {s.name for s in prepared.machine.spaces if s.way.facts.per_block}
    tasks.sort(key=lambda t: not shared & set(dict(_placement_of(t, options)).values()))
    # The present form is timed as forms with an access window are, to compare them with it.
    windows = any(f.rewritten.case.launch.window for f in forms.values() if isinstance(f, Form))
    if windows and present.timed is not None and not present.timed.whole:
        tasks.insert(0, present.placement)
    step = "timing and verifying"
    progress(step, 0, len(tasks))
    found: dict[Placement, TimedForm] = {}
    whole: Timed | None = None
    for done, (task, result) in enumerate(tried(tasks, one, prepared, present.timed), start=1):
        progress(step, done, len(tasks))
        if isinstance(task, int) and isinstance(result, Option):
            options[task] = result
        elif isinstance(result, TimedForm):
            found[result.placement] = result
        elif isinstance(result, Timed):
            whole = result
    options[:] = _compared_alike(options, prepared, present, whole)
    return [found[placement] for placement in beside if placement in found]


def _placement_of(task: int | Placement, options: Sequence[Option]) -> Placement:
    return task if isinstance(task, Placement) else options[task].placement


# One parameter for each thing that is known of the form.
def _proven(
    option: Option,
    form: Form | UnsupportedError,
    prepared: Prepared,
    present: Option,
    known: TimedForm | None,
    slower: bool,
) -> Option:
    """The option with its form, timed and, if it may gain, run and compared."""
    if isinstance(form, UnsupportedError):
        # One placement that cannot be written out must not cost the user the advice on all others.
        found = Verification(False, f"cannot be written: {form.message}", ())
        return replace(option, verification=found)
    rewritten, kernel = form.rewritten, form.kernel
    if kernel is None:
        return replace(option, rewritten=rewritten, verification=Verification(False, form.why, ()))
    option = replace(option, hints=fates_of(kernel, option.placement, prepared))
    if is_same_launch(kernel, rewritten.case, prepared.kernel, prepared.case):
        compared = tuple(name for name, _ in prepared.execution.outputs)
        return replace(
            option,
            rewritten=rewritten,
            verification=Verification(True, "the same machine code", compared),
            timed=present.timed,
            beside=present.timed,
            rerun=ratio_of_times(present.timed, present.timed),
        )
    timed = known.timed if known else time_beside(kernel, rewritten.case, prepared, present.timed)
    rerun = ratio_of_times(timed, present.timed)
    option = replace(option, rewritten=rewritten, timed=timed, beside=present.timed, rerun=rerun)
    # A form of which all blocks were run is compared with such a run of the present form later on.
    alike = present.timed is not None and timed.whole == present.timed.whole
    if alike and rerun is not None and rerun.ratio >= 1.0 and not slower:
        return option
    found = verify(rewritten, prepared.case, prepared.execution, kernel)
    if not found.identical:
        option = replace(option, timed=None, beside=None, rerun=None)
    return replace(option, verification=found)


def _compared_alike(
    options: list[Option], prepared: Prepared, present: Option, whole: Timed | None
) -> list[Option]:
    """The options, where those timed from the whole launch are compared with ``whole``, the present
    form timed from the whole launch, too. Otherwise what a run of only a few blocks leaves out
    would look like a gain."""
    unlike = [
        o
        for o in options
        if o.timed and o.timed.prediction and o.timed.whole and o.beside is present.timed
    ]
    if not unlike or present.timed is None or present.timed.whole:
        return options
    whole = whole or time_of_whole(prepared, present.timed)
    return [
        replace(o, rerun=ratio_of_times(o.timed, whole), beside=whole, present_ms=present.timed.ms)
        if o in unlike
        else o
        for o in options
    ]
