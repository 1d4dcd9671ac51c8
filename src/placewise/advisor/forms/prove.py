"""Options written out, compiled, run on the case's own inputs, compared with the outputs of the
original, and timed from their own machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from placewise.advisor.advice import Option, Verification
from placewise.advisor.explain.hint_notes import fates_of
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.chunked_tiles import TimedForm
from placewise.advisor.forms.same_code import is_same_launch
from placewise.advisor.forms.timing import ratio_of_times, time_form
from placewise.advisor.forms.verify import verify
from placewise.advisor.forms.write_form import Form, write_forms
from placewise.advisor.prepare import Prepared
from placewise.errors import UnsupportedError
from placewise.progress import Progress
from placewise.space import Placement


def prove(
    chosen: list[int],
    options: list[Option],
    prepared: Prepared,
    present: Option,
    progress: Progress,
    known: Mapping[Placement, TimedForm],
) -> None:
    """Rewrite, run and time the options at the positions ``chosen``, and replace them by the
    results. Forms in ``known`` are written and timed already, so this is not done again."""

    placements = [options[at].placement for at in chosen]
    unwritten = [placement for placement in placements if placement not in known]
    forms = write_forms(prepared, unwritten, present.timed, progress)

    def proven(at: int) -> Option:
        placement = options[at].placement
        timed = known.get(placement)
        form = timed.form if timed else forms[placement]
        return _proven(options[at], form, prepared, present, timed)

    step = "verifying and timing"
    progress(step, 0, len(chosen))
    for done, (at, option) in enumerate(tried(chosen, proven, prepared, present.timed), start=1):
        progress(step, done, len(chosen))
        options[at] = option
    options[:] = _compared_alike(options, prepared, present)


def _proven(
    option: Option,
    form: Form | UnsupportedError,
    prepared: Prepared,
    present: Option,
    known: TimedForm | None,
) -> Option:
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
    found = verify(rewritten, prepared.case, prepared.execution, kernel)
    if not found.identical:
        return replace(option, rewritten=rewritten, verification=found)
    # An access window reserves part of L2, which a few blocks alone do not fill: run all blocks.
    windowed = rewritten.case.launch.window is not None
    timed = (
        known.timed
        if known
        else time_form(
            kernel,
            rewritten.case,
            prepared.machine,
            whole=windowed,
            like=present.timed,
            corrected=prepared.corrected,
        )
    )
    return replace(
        option,
        rewritten=rewritten,
        verification=found,
        timed=timed,
        beside=present.timed,
        rerun=ratio_of_times(timed, present.timed),
    )


def _compared_alike(options: list[Option], prepared: Prepared, present: Option) -> list[Option]:
    """The options, where those timed from the whole launch are compared with the present form timed
    from the whole launch, too. Otherwise what a run of only a few blocks leaves out would look like
    a gain."""
    unlike = [
        o
        for o in options
        if o.timed and o.timed.prediction and o.timed.whole and o.beside is present.timed
    ]
    if not unlike or present.timed is None or present.timed.whole:
        return options
    whole = time_form(
        prepared.kernel,
        prepared.case,
        prepared.machine,
        whole=True,
        like=present.timed,
        corrected=prepared.corrected,
    )
    return [
        replace(o, rerun=ratio_of_times(o.timed, whole), beside=whole, present_ms=present.timed.ms)
        if o in unlike
        else o
        for o in options
    ]
