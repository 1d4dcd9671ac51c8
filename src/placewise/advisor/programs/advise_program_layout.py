"""How should the arrays of a program be laid out? One layout for all kernels that use an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from placewise.advisor.finalists import DEMAND, Demand
from placewise.advisor.forms.timing import Timed, ratio_of_times, time_form
from placewise.advisor.layouts.advise_layout import reuse_bytes
from placewise.advisor.layouts.layout_trial import fastest_first, recommended
from placewise.advisor.programs.chain import Step, read_launch, run_chain
from placewise.advisor.programs.program_layout_advice import (
    ProgramConversion,
    ProgramLayoutAdvice,
    ProgramLayoutOption,
    ProgramLayoutsTogether,
    ProgramStructAdvice,
    TimedStep,
)
from placewise.advisor.programs.relaid_program import (
    ProgramStructs,
    RelaidProgram,
    find_program_structs,
    prove_relaid,
    relay_program,
)
from placewise.choose.layouts import awkwardness, layout_candidates
from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT, execute
from placewise.kernel.cases.case import Language
from placewise.kernel.cases.prepare_case import ReadCase, compile_case
from placewise.kernel.launch import ArrayArgument
from placewise.kernel.programs.program import Program
from placewise.kernel.programs.program_file import ProgramLike, load_program
from placewise.machine import Machine, MachineLike, load_machine
from placewise.memory.fields import FieldCosts, FieldRecorder, field_costs, summed_costs
from placewise.memory.fields.record import LineUse, line_uses
from placewise.model import SAME, Ratio
from placewise.model.uncertainty import ratio_of_sums
from placewise.progress import Progress, silent
from placewise.space.layout import Layout, group_bytes, parse_layout


@dataclass(frozen=True, eq=False)
class ProgramTrial:
    """The present form of a program, to compare layouts with."""

    program: Program
    machine: Machine
    launches: tuple[TimedStep, ...]
    reads: tuple[ReadCase, ...]
    """Each launch's case with the values that the program starts with, read."""
    nvrtc: str | None
    instruction_limit: int
    progress: Progress

    @property
    def steps(self) -> tuple[Step, ...]:
        """The launches as they are, each with what the ones before it leave."""
        return tuple(one.step for one in self.launches)


def advise_program_layout(
    program: ProgramLike,
    machine: MachineLike,
    *,
    layouts: Sequence[str] = (),
    demand: Demand = DEMAND,
    nvrtc: str | None = None,
    progress: Progress = silent,
    instruction_limit: int = DEFAULT_LIMIT,
) -> ProgramLayoutAdvice:
    """Advise how the arrays of structs of ``program`` should be laid out on ``machine``.

    All arrays of one struct type get one layout, in all kernels that use them. Each layout is
    written into all kernels, which run in sequence on what the ones before them left, and every
    array is compared bit for bit behind each launch. Its cost is the sum over all launches of all
    rounds, and one conversion of the arrays that the host fills or reads. ``layouts`` names the
    layouts to try, as :func:`placewise.space.layout.parse_layout` reads them; without, they are
    chosen by what all launches access.

    Raises UnsupportedError where the source is not CUDA C++ or the machine's times are not
    predicted, and CaseError, CompileError, MachineError or ExecutionError for bad input. A struct
    that cannot have another layout is no error: its advice says why.
    """
    program, machine = load_program(program), load_machine(machine)
    if program.launches[0].case.language is not Language.CUDA:
        raise UnsupportedError(
            "the launches of a program are those of kernels in CUDA C++", where=program.filename
        )
    steps = run_chain(program, machine, nvrtc, instruction_limit, progress)
    reads = tuple(read_launch(launch, machine, nvrtc) for launch in program.launches)
    found = find_program_structs(program, reads)
    wanted = {s.arrays.type_name: [parse_layout(t, s.arrays.record) for t in layouts]
              for s in found if s.obstacle is None}  # fmt: skip
    launches = tuple(_timed_step(step, program, machine, progress) for step in steps)
    trial = ProgramTrial(program, machine, launches, reads, nvrtc, instruction_limit, progress)
    advice = tuple(_struct_advice(trial, s, wanted.get(s.arrays.type_name, []), demand)
                   for s in found)  # fmt: skip
    chosen = [one.best for one in advice if one.best is not None]
    together = _together(trial, chosen) if len(chosen) > 1 else None
    notes = [*machine.warnings, *dict.fromkeys(n for read in reads for n in read.notes)]
    if program.rounds > 1:
        notes.append(f"all {program.rounds} rounds are taken to be as long as the first one")
    if isinstance(together, str):
        notes.append(f"the recommended layouts are not written into one source: {together}")
        together = None
    return ProgramLayoutAdvice(program, machine, launches, advice, together, tuple(notes))


def _timed_step(step: Step, program: Program, machine: Machine, progress: Progress) -> TimedStep:
    progress(f"timing launch {step.title}", step.number - 1, len(program.launches))
    timed = time_form(compile_case(step.case), step.case, machine)
    if timed.ms is None:
        raise UnsupportedError(
            f"kernels are weighed by their predicted times: {timed.why_not}",
            where=f"launch {step.title} on {machine.name}",
            hint="run placewise layout on each kernel's own case",
        )
    return TimedStep(step, timed, program.rounds * step.launch.times)


def _struct_advice(
    trial: ProgramTrial, structs: ProgramStructs, wanted: list[Layout], demand: Demand
) -> ProgramStructAdvice:
    """Try the layouts of one struct type."""
    if structs.obstacle is not None:
        return ProgramStructAdvice(structs, (), (), None)
    costs, lines = _accesses(trial, structs)
    wanted = wanted or layout_candidates(costs)
    options = []
    for done, layout in enumerate(wanted):
        trial.progress(f"trying layout {layout.describe()}", done, len(wanted))
        options.append(_option(trial, structs, layout))
    ranked = fastest_first(options)
    best = recommended(ranked, demand, lambda o: awkwardness(o.layout))
    return ProgramStructAdvice(structs, lines, ranked, best)


def _accesses(
    trial: ProgramTrial, structs: ProgramStructs
) -> tuple[FieldCosts, tuple[tuple[int, LineUse], ...]]:
    """Costs of groups of fields over all launches that use the arrays, and what each line moves.
    A few blocks of each launch stand for all of them."""
    record = structs.arrays.record
    parts, lines = [], []
    for number, kernel in structs.kernels.items():
        one = trial.launches[number - 1]
        case = one.step.case
        trial.progress(f"tracing launch {one.step.title}", number - 1, len(trial.launches))
        recorder = FieldRecorder(record, kernel.arrays.parameters, case.launch)
        compiled = compile_case(case)
        execute(
            compiled, case.launch, case.inputs, consumer=recorder,
            trace_blocks=recorder.trace_blocks, instruction_limit=trial.instruction_limit,
        )  # fmt: skip
        accesses = recorder.accesses()
        reuse = reuse_bytes(case, compiled, trial.machine)
        costs = field_costs(record, accesses, reuse)
        traced = int(recorder.trace_blocks.sum())
        parts.append((costs, one.launches * case.launch.blocks / traced))
        lines += [(number, use) for use in line_uses(record, accesses)]
    lines.sort(key=lambda pair: pair[1].used_bytes - pair[1].moved_bytes)
    return summed_costs(parts), tuple(lines)


def _option(trial: ProgramTrial, structs: ProgramStructs, layout: Layout) -> ProgramLayoutOption:
    """Write one layout into all kernels, prove and time it."""
    relaid: RelaidProgram | None = None

    def unproven(why: str) -> ProgramLayoutOption:
        return ProgramLayoutOption(
            layout.describe(), layout.kind(), False, why, None, None, structs, layout, relaid, (),
            None, None, None,
        )  # fmt: skip

    try:
        relaid = relay_program(trial.program, trial.reads, structs, layout)
        steps = run_chain(relaid.program, trial.machine, trial.nvrtc, trial.instruction_limit)
    except PlacewiseError as error:
        return unproven(error.message)
    proof = prove_relaid(
        trial.steps, steps, [relaid.relaid], trial.program.rounds, trial.instruction_limit
    )
    if not proof.identical:
        return unproven(proof.detail)
    times = _times(trial, steps, set(relaid.relaid))
    missing = next((t.why_not for t in times if t.ms is None), None)
    if missing is not None:
        return unproven(f"{proof.detail}; no time: {missing}")
    total = _total_ms(trial, times)
    present = sum(one.total_ms for one in trial.launches)
    conversion = _conversion(trial, structs, relaid, present - total)
    return ProgramLayoutOption(
        layout.describe(), layout.kind(), True, proof.detail, None,
        ratio_of_program(trial.launches, times, conversion.milliseconds or 0.0),
        structs, layout, relaid, times, total, ratio_of_program(trial.launches, times), conversion,
    )  # fmt: skip


def _times(trial: ProgramTrial, steps: Sequence[Step], changed: set[int]) -> tuple[Timed, ...]:
    """Time of each launch of a written program; those whose numbers are not in ``changed`` take
    what they take now."""
    return tuple(
        time_form(compile_case(step.case), step.case, trial.machine)
        if step.number in changed
        else one.timed
        for one, step in zip(trial.launches, steps, strict=True)
    )


def _total_ms(trial: ProgramTrial, times: Sequence[Timed]) -> float:
    """Time of the whole program, all rounds."""
    pairs = zip(trial.launches, times, strict=True)
    return sum(one.launches * (timed.ms or 0.0) for one, timed in pairs)


def _together(
    trial: ProgramTrial, chosen: Sequence[ProgramLayoutOption]
) -> ProgramLayoutsTogether | str:
    """The recommended layouts of several struct types in one source, proven; or why there is
    none."""
    program, written = trial.program, []
    try:
        for option in chosen:
            reads = [read_launch(one, trial.machine, trial.nvrtc) for one in program.launches]
            wanted = option.structs.arrays.type_name
            found = find_program_structs(program, reads)
            structs = next(s for s in found if s.arrays.type_name == wanted)
            if structs.obstacle is not None:
                return structs.obstacle
            written.append(relay_program(program, reads, structs, option.layout))
            program = written[-1].program
        steps = run_chain(program, trial.machine, trial.nvrtc, trial.instruction_limit)
    except PlacewiseError as error:
        return error.message
    proof = prove_relaid(
        trial.steps, steps, [w.relaid for w in written], program.rounds, trial.instruction_limit
    )
    times = _times(trial, steps, {number for w in written for number in w.relaid})
    missing = next((t.why_not for t in times if t.ms is None), None)
    if not proof.identical or missing is not None:
        return missing or proof.detail
    total = _total_ms(trial, times)
    found_costs = [o.conversion for o in chosen if o.conversion is not None]
    converted = sum(c.milliseconds or 0.0 for c in found_costs)
    return ProgramLayoutsTogether(
        chosen=tuple(chosen),
        written=tuple(written),
        detail=proof.detail,
        total_ms=total,
        conversion_ms=converted,
        ratio=ratio_of_program(trial.launches, times, converted),
    )


def ratio_of_program(
    present: Sequence[TimedStep], times: Sequence[Timed], added_ms: float = 0.0
) -> Ratio:
    """Time of a program whose launches take ``times`` over its ``present`` one; ``added_ms`` is
    what the new form takes besides. Every launch has a time."""
    total = sum(one.total_ms for one in present)
    parts = []
    for one, timed in zip(present, times, strict=True):
        ratio = SAME if timed is one.timed else ratio_of_times(timed, one.timed)
        parts.append((one.total_ms / total, ratio or SAME))
    return ratio_of_sums(parts, added_ms / total)


def _conversion(
    trial: ProgramTrial, structs: ProgramStructs, relaid: RelaidProgram, gained_ms: float
) -> ProgramConversion:
    """Cost of the conversions of a program whose launches are ``gained_ms`` faster in all."""
    record, layout = structs.arrays.record, relaid.layout
    given: set[str] = set()
    sizes: dict[str, tuple[int, int]] = {}
    for number, form in relaid.relaid.items():
        step = trial.launches[number - 1].step
        elements = dict(form.elements)
        start = trial.reads[number - 1].case.inputs.arguments
        for argument in start:
            if argument.name not in elements or not isinstance(argument, ArrayArgument):
                continue
            array, count = step.arrays.get(argument.name, argument.name), elements[argument.name]
            new = sum(group_bytes(record, group, count) for group in layout)
            sizes[array] = argument.data.nbytes, new
            if not argument.uninitialised:
                given.add(array)
    written = {array for step in trial.steps for array in step.written}
    ways = {array: (array in given) + (array in given & written) for array in sizes}
    moved = sum(ways[array] * (old + new) for array, (old, new) in sizes.items())
    bandwidth = trial.machine.limits.reached_dram_gb_per_s
    milliseconds = moved / bandwidth * 1e-6 if bandwidth else None
    rounds = None
    if milliseconds is not None and gained_ms > 0:
        rounds = math.ceil(milliseconds / (gained_ms / trial.program.rounds))
    return ProgramConversion(moved, milliseconds, rounds)
