"""Where should each array of this kernel live on this machine? The function behind ``placewise
advise``."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from placewise.advisor.advice import Advice, Option, RunFacts
from placewise.advisor.cache_hints import hinted, windowed_array
from placewise.advisor.choosers import Chooser, best_by, chosen_placements, verdict_by
from placewise.advisor.explain.access_facts import placed_by_data
from placewise.advisor.explain.benign_races import benign_races
from placewise.advisor.explain.block_size import block_size_in_words, grid_in_words
from placewise.advisor.explain.costly_patterns import conflicting, scattered
from placewise.advisor.explain.gain import gain_in_words
from placewise.advisor.explain.hint_notes import caution, hint_notes
from placewise.advisor.explain.limits_in_words import why_in_words
from placewise.advisor.explain.load_service import with_simulated_hits, with_simulated_reasons
from placewise.advisor.explain.local_memory import (
    Limiting,
    limiting_arrays,
    local_in_words,
    smaller_blocks_in_words,
)
from placewise.advisor.explain.notes import (
    atomics_note,
    bound_note,
    by_hand_note,
    carve_out_note,
    compiler_note,
    loads_alone,
    range_note,
    time_notes,
)
from placewise.advisor.explain.why import array_facts, costs, reasons
from placewise.advisor.finalists import (
    DEMAND,
    UNCHANGED,
    Demand,
    frequent_misses,
    hot_tiles,
    joined,
    operands,
    private_copies,
    read_only,
    recommended,
    simpler_than_first,
)
from placewise.advisor.finalists import finalists as best_ranked
from placewise.advisor.forms.at_once import meanwhile
from placewise.advisor.forms.chunked_tiles import fastest_chunked, first_chunked
from placewise.advisor.forms.own.local_forms import with_shared_locals
from placewise.advisor.forms.own.padded_forms import padded_forms
from placewise.advisor.forms.own.undone_forms import with_undone
from placewise.advisor.forms.prove import prove
from placewise.advisor.forms.timing import Timed, corrections_of, ratio_of_times, time_form
from placewise.advisor.forms.write_form import writable
from placewise.advisor.prepare import Prepared, Profiling, prepare
from placewise.cases import load_case
from placewise.choose import Candidate, Choice, combinations, judged, search
from placewise.errors import UnsupportedError
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case
from placewise.kernel.view.written_out.struct_members import (
    members_in_words,
    with_members_apart,
    with_structs,
)
from placewise.machine import Machine, load_machine
from placewise.machine.clocks import machine_at, with_caches
from placewise.model import path_model
from placewise.progress import Progress, silent
from placewise.recorded.recorded_counters import launch_and_differences, read_measured
from placewise.recorded.recorded_launch import MeasuredLaunch, executed
from placewise.space import Placement

FINALISTS = 4
"""Best-ranked placements that are rewritten and, where machine code is read, timed."""

LEAST_GAIN_OF_WINDOW = 0.01
"""An access window of L2 is tried if it could save this share of the time at best."""


# Public and keyword-only: one parameter for each option; the stages in their order.
def advise(
    case: Case | str | Path,
    machine: Machine | str | Path,
    *,
    measured_ms: float | None = None,
    profile: Path | None = None,
    row: int | None = None,
    finalists: int = FINALISTS,
    demand: Demand = DEMAND,
    chooser: Chooser = Chooser.TIMELINE,
    profiling: Profiling = Profiling.FULL,
    undo: bool = True,
    members: bool = True,
    clock: str | float | None = None,
    caches: str = "cold",
    nvrtc: str | None = None,
    instruction_limit: int = DEFAULT_LIMIT,
    workers: int = 1,
    progress: Progress = silent,
) -> Advice:
    """Rank the legal placements of ``case`` on ``machine``, write out the best, and prove them.

    ``case`` and ``machine`` are values, names of bundled ones, or paths. With ``measured_ms``, a
    measured time of the case as it is, predictions are given in milliseconds too; ``profile`` is a
    file of counters recorded of it (launch ``row``, from 0, where it has several), which stand in
    for the predicted ones and correct those of the other placements. ``demand`` says how probable
    and how large a gain must be to recommend a move; ``chooser`` who chooses it, in which case
    neither counts; ``profiling`` how much of the launch is traced; ``undo`` whether constant
    and shared arrays of the source itself are tried in global memory, and shared ones with longer
    rows where banks conflict; ``members`` whether pointers in structs that the kernel gets by value
    count as arrays. ``clock`` is the SMs' in MHz, ``"base"`` or ``"boost"``; None: not known.
    ``caches`` says what L2 holds at the start: ``"cold"``, none of the launch's data, or
    ``"warm"``, what the same launch left. ``nvrtc`` replaces the case's own compiler. A warp that
    executes more than ``instruction_limit`` instructions is taken to be endless. ``workers``
    processes try forms at the same time, where these take long; more than one are forked from this
    one, in which no other thread may be at work. ``progress`` is called as
    ``progress(step, done, total)``. Raises PlacewiseError subclasses for bad input.
    """
    start = time.perf_counter()
    case = load_case(case)
    machine = with_caches(machine_at(load_machine(machine), clock), caches)
    if nvrtc is not None:
        case = replace(case, options=replace(case.options, nvrtc=nvrtc))
    if members:
        case = with_members_apart(case)
    prepared = prepare(
        case, machine, progress, profiling=profiling, instruction_limit=instruction_limit
    )
    prepared = replace(prepared, workers=workers, seconds=time.perf_counter() - start)
    if not prepared.ran:
        # Nothing to compare with: placements are ranked by the memory traffic of the given profile.
        finalists = 0
        if chooser is not Chooser.TIMELINE or profile is not None:
            raise UnsupportedError(
                "a launch that is not run here has neither times of its forms nor counters",
                where=prepared.case.name,
                hint="leave out --chooser and --measured",
            )
    if profile is not None:
        defines = prepared.case.options.defines
        ran = executed(prepared.kernel, prepared.case.launch, defines, machine)
        launch, differs = launch_and_differences(read_measured(profile), ran, row, str(profile))
        if measured_ms is None and launch.microseconds is not None:
            measured_ms = launch.microseconds * 1e-3
        prepared = _profiled(prepared, launch, profile, differs)
    progress("searching placements", 0, 0)
    timing = bool(finalists) or chooser is not Chooser.TIMELINE
    with meanwhile(partial(_time_of_present, prepared), prepared, wanted=timing) as time_of_present:
        candidates = search(prepared.profile, prepared.legality, machine, path_model(joint=True))
        now = next(c for c in candidates if c.present)
        present = _option(now, now, measured_ms)
        options = [_option(c, now, measured_ms) for c in candidates if not c.present]
        if timing:
            progress("timing the present form", 0, 0)
            timed = time_of_present()
            present = replace(
                present, timed=timed, beside=timed, rerun=ratio_of_times(timed, timed)
            )
    refused: tuple[Choice, ...] = ()
    if chooser is Chooser.TIMELINE:
        chosen = _finalists(prepared, options, now, present, finalists, measured_ms, progress)
        if undo and finalists:
            present, undone = with_undone(prepared, present, progress)
            present, shared, refused = with_shared_locals(prepared, present, progress)
            own = undone + shared + padded_forms(prepared, present, progress)
            chosen += range(len(options), len(options) + len(own))
            options += own
        best = recommended([options[at] for at in chosen], present, machine, demand)
    else:
        placements = chosen_placements(chooser, prepared)
        moved = [p for p in placements if p != present.placement]
        chosen = _among(moved, options, now, prepared, measured_ms, known=[])
        prove(chosen, options, prepared, present, progress, slower=True)
        best = best_by(chooser, [options[at] for at in chosen])
    limiting = limiting_arrays(prepared, present.timed)
    written = [options[at] for at in chosen]
    # Forms that were timed come first, since less is known about the others.
    options.sort(key=lambda o: (o.rerun is None, o.judged.faster is None, o.ratio))
    facts = with_simulated_hits(array_facts(prepared.profile, now), present.timed, machine)
    verdict = (
        _verdict(best, tuple(options), present, machine, demand)
        if chooser is Chooser.TIMELINE
        else verdict_by(chooser, written, best, present)
    )
    return Advice(
        case=with_structs(prepared.case, prepared.case),
        machine=machine,
        run=_facts(prepared),
        arrays=facts,
        present=present,
        options=tuple(options),
        recommended=best,
        verdict=verdict
        + smaller_blocks_in_words(limiting, prepared)
        + loads_alone(prepared.case.language),
        why=_why(best, present, limiting, prepared),
        placements=combinations(prepared.legality),
        illegal=prepared.legality.illegal + refused,
        patterns=(
            *scattered(prepared.profile, facts, prepared.case.language, placed_by_data(prepared)),
            *conflicting(present.timed),
        ),
        races=benign_races(prepared, present.timed, progress) if finalists else (),
        notes=_notes(prepared, present, options, best, candidates),
        seconds=time.perf_counter() - start,
    )


def _notes(
    prepared: Prepared, present: Option, options: list[Option], best: Option | None,
    candidates: tuple[Candidate, ...],
) -> tuple[str, ...]:  # fmt: skip
    """What the advice rests on and leaves out, each note once. ``candidates`` are the placements
    that the search ranked."""
    case, machine = prepared.case, prepared.machine
    now = next(c for c in candidates if c.present)
    notes = (
        *prepared.notes,
        *members_in_words(case),
        *time_notes(present, options, machine),
        *(compiler_note(case, prepared.kernel) if present.rerun is not None else ()),
        *range_note(candidates),
        *atomics_note(candidates, now),
        *hint_notes(options, present, machine),
        *bound_note(best),
        *carve_out_note(best),
        *by_hand_note(prepared, candidates),
    )
    return tuple(dict.fromkeys(notes))


def _time_of_present(prepared: Prepared) -> Timed:
    windowed = windowed_array(prepared.profile, prepared.legality, prepared.machine)
    return time_form(
        prepared.kernel,
        prepared.case,
        prepared.machine,
        corrected=prepared.corrected,
        held=windowed,
    )


def _window_may_gain(present: Timed) -> bool:
    """Whether an access window that kept all of its array in L2 would save time. Forms with
    windows are timed from runs of all blocks, which takes long."""
    if present.ms is None or present.held_ms is None:
        return True
    return present.ms >= (1.0 + LEAST_GAIN_OF_WINDOW) * present.held_ms


def _why(best: Option | None, present: Option, limiting: Limiting, prepared: Prepared) -> str:
    """Whether the grid is too small for the GPU; what limits the kernel and what the move changes;
    which array in local memory is the cause; then what its small blocks waste."""
    launch, machine = prepared.case.launch, prepared.machine
    said = (
        grid_in_words(launch, machine),
        why_in_words(best, present),
        local_in_words(limiting, prepared),
        block_size_in_words(launch, machine, prepared.occupancy),
    )
    return " ".join(filter(None, said))


def _finalists(
    prepared: Prepared,
    options: list[Option],
    now: Candidate,
    present: Option,
    number: int,
    measured_ms: float | None,
    progress: Progress,
) -> list[int]:
    """Write out, run and time the ``number`` best-ranked options and those that a model of memory
    traffic cannot judge. Returns their positions in ``options``."""
    machine = prepared.machine
    able = writable(options, prepared)
    chosen = [able[at] for at in best_ranked([options[a] for a in able], present, machine, number)]
    if present.rerun is None or present.timed is None:
        prove(chosen, options, prepared, present, progress)
    else:
        facts = array_facts(prepared.profile, now)
        others = read_only(facts, prepared.legality, machine)
        others += operands(facts, prepared.legality, machine)
        windows = _window_may_gain(present.timed)
        others += hinted(prepared.profile, prepared.legality, machine, windows=windows)
        others += private_copies(prepared.legality, prepared.view)
        others += hot_tiles(facts, prepared.legality)
        chosen += _among(others, options, now, prepared, measured_ms, known=chosen)
        first = first_chunked(prepared)
        timed = prove(chosen, options, prepared, present, progress, beside=first)
        tiled = fastest_chunked(timed, prepared, present.timed, progress)
        chunked = [f.placement for f in tiled]
        together = joined(options, tiled, prepared.legality)
        more = _among([*chunked, *together], options, now, prepared, measured_ms, known=chosen)
        known = {f.placement: f for f in tiled}
        prove(more, options, prepared, present, progress, known=known)
        chosen += more
    options[:] = [with_simulated_reasons(o, machine) for o in options]
    return chosen


def _profiled(
    prepared: Prepared, launch: MeasuredLaunch, profile: Path, differs: tuple[str, ...]
) -> Prepared:
    """``prepared`` with corrections from the recorded counters of the present form, and with notes
    on these corrections and on how the recorded launch ``differs``."""
    found = corrections_of(prepared.kernel, prepared.case, prepared.machine, launch)
    said = ", ".join(f"{name} × {factor:.3g}" for name, factor in found.factors)
    note = (
        f"predicted counters of all forms corrected by those of {profile.name}: {said}"
        if said
        else f"{profile.name} has no counter that the times rest on"
    )
    notes = [note, *(f"{profile.name} was recorded with {what}" for what in differs)]
    return replace(prepared, corrected=found, notes=(*prepared.notes, *notes))


def _among(
    placements: list[Placement],
    options: list[Option],
    now: Candidate,
    prepared: Prepared,
    measured_ms: float | None,
    *,
    known: list[int],
) -> list[int]:
    """Positions of ``placements`` in ``options``, without the positions in ``known``. Placements
    that the search did not find are appended to ``options``."""
    found = []
    for placement in placements:
        at = next((i for i, o in enumerate(options) if o.placement == placement), len(options))
        if at == len(options):
            (candidate,) = judged(
                [placement],
                prepared.profile,
                prepared.legality,
                prepared.machine,
                path_model(joint=True),
            )
            options.append(_option(candidate, now, measured_ms))
        if at not in known:
            found.append(at)
    return found


def _option(candidate: Candidate, now: Candidate, measured_ms: float | None) -> Option:
    ratio = candidate.ratio
    return Option(
        placement=candidate.placement,
        prediction=candidate.prediction,
        traffic=ratio,
        measured_ms=measured_ms,
        reasons=reasons(candidate, now),
        costs=costs(candidate),
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


def _verdict(
    recommended: Option | None,
    options: tuple[Option, ...],
    present: Option,
    machine: Machine,
    demand: Demand,
) -> str:
    if recommended is not None:
        return (
            f"{recommended.placement.instruction(present.placement)}: predicted "
            f"{gain_in_words(recommended)}. The rewritten kernel was compiled and run on these "
            "inputs; its outputs are bit-identical."
            f"{simpler_than_first(recommended, options)}"
            f"{caution(recommended, present, machine)}"
        )
    if not options:
        return "Keep it as it is: there is no other legal placement on this machine."
    best = options[0]
    if best.ratio >= UNCHANGED:
        return "Keep it as it is: no other placement is predicted to gain anything."
    best_words = f"the best alternative, {best.placement.describe(present.placement)}, is"
    if not demand.is_met(best.ratio, best.judged.faster):
        return (
            f"Keep it as it is: {best_words} predicted {gain_in_words(best)}; a recommendation "
            f"asks for a probability of {demand.probability:.0%} and a gain of {demand.gain:.0%}."
        )
    if best.verification is None:
        return (
            f"Keep it as it is: {best_words} predicted {gain_in_words(best)}, but was not among "
            "the finalists, so it was neither written out nor proven."
        )
    if not best.proven:
        return (
            "Keep it as it is: the best-ranked placement could not be proven to compute the same "
            f"({best.verification.detail})."
        )
    missing = frequent_misses(best, machine)
    if missing:
        array, share = missing
        return (
            f"Keep it as it is: {best_words} predicted {gain_in_words(best)}, but "
            f"{share:.0%} of the accesses to {array} miss the nearest cache of constant memory, "
            "and how fast so many misses are served is not known."
        )
    return f"Keep it as it is: {best_words} predicted {gain_in_words(best)}."
