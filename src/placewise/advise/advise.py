"""The main job: where should each array of this kernel live on this machine?"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from placewise.advise.advice import Advice, Option, RunFacts, Verification
from placewise.advise.prepare import Prepared, Progress, prepare, silent
from placewise.advise.verify import verify
from placewise.advise.why import array_facts, costs, reasons
from placewise.cases import load_case
from placewise.choose import Candidate, combinations, search
from placewise.errors import UnsupportedError
from placewise.execute import DEFAULT_LIMIT
from placewise.kernel.case import Case
from placewise.machine import Machine, load_machine
from placewise.model import path_model
from placewise.rewrite import rewrite
from placewise.space import Placement

FINALISTS = 3
"""Best-ranked placements that are rewritten and run."""

AS_GOOD = 0.02
"""Of options whose ratios differ by less, the one with the fewest moves is preferred: code that is
harder to read should buy something."""
UNCHANGED = 0.995
"""A ratio that prints as 1.00 or more is no gain."""


def advise(
    case: Case | str | Path,
    machine: Machine | str | Path,
    *,
    measured_ms: float | None = None,
    finalists: int = FINALISTS,
    instruction_limit: int = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> Advice:
    """Rank the legal placements of ``case`` on ``machine``, write out the best, and prove them.

    ``case`` and ``machine`` are values, names of bundled ones, or paths. With ``measured_ms``, a
    measured time of the case as it is, predictions are given in milliseconds too. A warp that
    executes more than ``instruction_limit`` instructions is taken to be endless. ``progress`` is
    called as ``progress(step, done, total)``. Raises PlacewiseError subclasses for bad input.
    """
    start = time.perf_counter()
    case = case if isinstance(case, Case) else load_case(str(case))
    machine = machine if isinstance(machine, Machine) else load_machine(str(machine))
    prepared = prepare(case, machine, progress, instruction_limit=instruction_limit)
    progress("searching placements", 0, 0)
    candidates = search(prepared.profile, prepared.legality, machine, path_model())
    now = next(c for c in candidates if c.present)
    present = _option(now, now, measured_ms)
    options = [_option(c, now, measured_ms) for c in candidates if not c.present]
    chosen = _finalists(options, present, finalists)
    for done, at in enumerate(chosen):
        progress("rewriting and verifying", done, len(chosen))
        options[at] = _proven(options[at], prepared)
    proven = [options[at] for at in chosen if options[at].proven and options[at].high < 1.0]
    recommended = proven[0] if proven else None
    return Advice(
        case=prepared.case,
        machine=machine,
        run=_facts(prepared),
        arrays=array_facts(prepared.profile, now),
        present=present,
        options=tuple(options),
        recommended=recommended,
        verdict=_verdict(recommended, tuple(options), present),
        placements=combinations(prepared.legality),
        illegal=prepared.legality.illegal,
        notes=(*prepared.notes, *_range_note(candidates)),
        seconds=time.perf_counter() - start,
    )


def _finalists(options: list[Option], present: Option, number: int) -> list[int]:
    """Positions of the options to prove, the one to recommend first: the fewest moves among those
    that are as good as the best, then the best-ranked."""
    if not options or not number:
        return []
    moves = [len(option.placement.moved(present.placement)) for option in options]
    good = [i for i, o in enumerate(options) if o.ratio <= options[0].ratio + AS_GOOD]
    simplest = min(good, key=lambda i: (moves[i], i))
    return [simplest, *(i for i in range(len(options)) if i != simplest)][:number]


def _option(candidate: Candidate, now: Candidate, measured_ms: float | None) -> Option:
    ratio = candidate.ratio
    return Option(
        placement=candidate.placement,
        prediction=candidate.prediction,
        ratio=ratio.ratio,
        low=ratio.low,
        high=ratio.high,
        predicted_ms=None if measured_ms is None else measured_ms * ratio.ratio,
        reasons=reasons(candidate, now),
        costs=costs(candidate),
    )


def _proven(option: Option, prepared: Prepared) -> Option:
    moves = option.placement.moved(prepared.legality.present)
    placement = Placement(tuple((array, target) for array, _, target in moves))
    try:
        rewritten = rewrite(prepared.case, placement, prepared.machine, prepared.view)
    except UnsupportedError as error:
        # One placement that cannot be written out must not cost the user the advice on all others.
        found = Verification(False, f"cannot be written: {error.message}", ())
        return replace(option, verification=found)
    return replace(
        option,
        rewritten=rewritten,
        verification=verify(rewritten, prepared.case, prepared.execution),
    )


def _range_note(candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    """What the range of a ratio rests on, where the model's error is known."""
    error = next((c.ratio.error for c in candidates if c.ratio.error is not None), None)
    if error is None:
        return ()
    return (
        "ranges cover the model's concurrency factors, the block sample, and the model's error on "
        f"measured kernels ({error.fitted_on}); held out ({error.checked_on}), the measured ratio "
        f"stayed below the upper end in {error.checked_below} of {error.checked_pairs} pairs",
    )


def _facts(prepared: Prepared) -> RunFacts:
    run = prepared.execution
    return RunFacts(
        arch=prepared.kernel.arch,
        registers=prepared.kernel.registers,
        occupancy=prepared.occupancy,
        warp_instructions=run.warp_instructions,
        thread_instructions=run.thread_instructions,
        traced_accesses=prepared.profile.sampled_requests,
        traced_blocks=prepared.traced_blocks,
        blocks=prepared.case.launch.blocks,
        seconds=run.seconds,
    )


def _verdict(recommended: Option | None, options: tuple[Option, ...], present: Option) -> str:
    if not options:
        return "Keep it as it is: there is no other legal placement on this machine."
    if recommended is None:
        best = options[0]
        if best.ratio >= UNCHANGED:
            return "Keep it as it is: no other placement is predicted to gain anything."
        if best.high < 1.0 and best.verification and not best.proven:
            return (
                "Keep it as it is: the best-ranked placement could not be proven to compute the "
                f"same ({best.verification.detail})."
            )
        return (
            f"Keep it as it is: the best alternative is predicted at {best.ratio:.2f} of the "
            f"present memory time ({best.low:.2f}–{best.high:.2f}), within the model's uncertainty."
        )
    moves = ", ".join(
        f"{array} → {target}" for array, _, target in recommended.placement.moved(present.placement)
    )
    return (
        f"Move {moves}: predicted {recommended.ratio:.2f} of the present memory time "
        f"({recommended.low:.2f}–{recommended.high:.2f}). The rewritten kernel was compiled and "
        "run on these inputs; its outputs are bit-identical."
    )
