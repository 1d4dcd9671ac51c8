"""A program whose arrays of one struct type have another layout, in all its kernels, and its
proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from placewise.advisor.advice import Verification
from placewise.advisor.forms.verify import UNCONTRACTED, uncontracted
from placewise.advisor.layouts.verify_layout import first_unlike
from placewise.advisor.programs.chain import State, Step, keep, run_case
from placewise.advisor.programs.written_program import ROUNDS_RUN
from placewise.errors import PlacewiseError
from placewise.executor import Execution
from placewise.executor.compare import compare
from placewise.kernel.cases.prepare_case import ReadCase
from placewise.kernel.programs.program import Program, ProgramLaunch, with_arrays
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_struct_arrays
from placewise.rewriter.layouts import KernelArrays, Relaid, rewrite_together
from placewise.rewriter.layouts.names import untaken
from placewise.space.layout import Layout


@dataclass(frozen=True, eq=False)
class ProgramStructs:
    """The arrays of one struct type that a program has, and how its kernels use them."""

    kernels: Mapping[int, KernelArrays]
    """By the number of the launch, with the values that the program starts with."""
    names: tuple[str, ...]
    """The program's names of the arrays."""
    obstacle: str | None
    """Why they cannot have another layout; None: they can."""

    @property
    def arrays(self) -> StructArrays:
        """The struct, and its arrays in the first kernel that has them."""
        return next(iter(self.kernels.values())).arrays


@dataclass(frozen=True, eq=False)
class RelaidProgram:
    """A program with its arrays of one struct type in another layout."""

    program: Program
    """All kernels in one source; each group of fields is an array of the program."""
    layout: Layout
    relaid: Mapping[int, Relaid]
    """What was written for each launch that has such arrays, by its number."""


def find_program_structs(program: Program, reads: Sequence[ReadCase]) -> tuple[ProgramStructs, ...]:
    """The program's arrays of structs, one answer for each struct type. ``reads`` are its launches'
    cases, read; UnsupportedError where a kernel's definition cannot be found."""
    found: dict[str, dict[int, KernelArrays]] = {}
    for number, read in enumerate(reads, start=1):
        for arrays in find_struct_arrays(read.case):
            kernel = KernelArrays(read.case, read.view, arrays)
            found.setdefault(arrays.type_name, {})[number] = kernel
    return tuple(_structs(program, reads, kernels) for kernels in found.values())


def _structs(
    program: Program, reads: Sequence[ReadCase], kernels: dict[int, KernelArrays]
) -> ProgramStructs:
    named = {n: program.launches[n - 1].arrays_of(k.case) for n, k in kernels.items()}
    parts = [(n, p) for n, k in kernels.items() for p in k.arrays.parameters]
    names = tuple(dict.fromkeys(named[n].get(p, p) for n, p in parts))
    obstacles = (f"{k.case.kernel}: {k.arrays.obstacle}" for k in kernels.values()
                 if k.arrays.obstacle is not None)  # fmt: skip
    first = next(iter(kernels.values())).arrays
    obstacle = next(obstacles, None) or next(_other_uses(program, reads, kernels, names), None)
    if any(k.arrays.record != first.record for k in kernels.values()):
        obstacle = f"{first.type_name} has other fields in another kernel"
    return ProgramStructs(kernels, names, obstacle)


def _other_uses(
    program: Program, reads: Sequence[ReadCase], kernels: Mapping[int, KernelArrays],
    names: tuple[str, ...],
) -> Iterator[str]:  # fmt: skip
    """Launches that get one of the arrays ``names`` as something else than an array of the
    struct."""
    for number, read in enumerate(reads, start=1):
        known = kernels[number].arrays.parameters if number in kernels else ()
        for parameter, array in program.launches[number - 1].arrays_of(read.case).items():
            if array in names and parameter not in known:
                yield f"launch {number} ({read.case.kernel}) gets {array} as another type"
        for holder, pointer in read.case.inputs.pointers:
            if pointer.array in known:
                yield f"launch {number} ({read.case.kernel}): '{holder}' points into it"


def relay_program(
    program: Program, reads: Sequence[ReadCase], structs: ProgramStructs, layout: Layout
) -> RelaidProgram:
    """``program`` with all arrays of ``structs`` in ``layout``.

    Raises UnsupportedError where that cannot be written, and CaseError where the layout does not
    fit the struct.
    """
    made = rewrite_together(tuple(structs.kernels.values()), layout)
    relaid = dict(zip(structs.kernels, made, strict=True))
    source = made[0].case.source
    others = {a for n, read in enumerate(reads, start=1)
              for a in program.launches[n - 1].arrays_of(read.case).values()}  # fmt: skip
    launches = []
    for number, (launch, read) in enumerate(zip(program.launches, reads, strict=True), start=1):
        arrays = launch.arrays_of(read.case)
        form = relaid.get(number)
        if form is None:
            case = replace(read.case, source=source)
            launches.append(ProgramLaunch(case, tuple(arrays.items()), launch.times))
            continue
        shared = []
        for parameter, array in arrays.items():
            if parameter not in form.arrays.parameters:
                shared.append((parameter, array))
                continue
            for group in range(len(layout.groups)):
                named = untaken(form.names.parameter(array, group), others)
                shared.append((form.names.parameter(parameter, group), named))
        launches.append(ProgramLaunch(form.case, tuple(shared), launch.times))
    return RelaidProgram(replace(program, launches=tuple(launches)), layout, relaid)


def prove_relaid(
    steps: Sequence[Step], new_steps: Sequence[Step], relaid: Sequence[Mapping[int, Relaid]],
    rounds: int, instruction_limit: int,
) -> Verification:  # fmt: skip
    """Run the program as it is (``steps``) and in its new layout (``new_steps``), each launch on
    what the ones before it left in its own program, and compare all arrays bit for bit behind each
    launch, after conversion back. Bytes of padding do not count.

    Where they differ, both are compared once more, compiled without fused multiply-adds. Errors are
    findings here, not failures.
    """
    names = tuple(sorted({a for step in steps for a in step.written}))
    rounds = min(rounds, ROUNDS_RUN)
    over = f" over {rounds} rounds" if rounds > 1 else ""
    try:
        found = _unlike(steps, new_steps, relaid, rounds, instruction_limit)
        if found is None:
            return Verification(True, f"bit-identical in sequence{over}", names)
        before, after = ([_uncontracted(s) for s in each] for each in (steps, new_steps))
        if _unlike(before, after, relaid, rounds, instruction_limit) is None:
            detail = f"bit-identical in sequence{over} under {UNCONTRACTED}; else multiply-adds are"
            return Verification(True, f"{detail} contracted otherwise", names)
    except PlacewiseError as error:
        return Verification(False, f"failed: {error.message}", ())
    return Verification(False, found, names)


def _unlike(
    steps: Sequence[Step], new_steps: Sequence[Step], relaid: Sequence[Mapping[int, Relaid]],
    rounds: int, instruction_limit: int,
) -> str | None:  # fmt: skip
    """What differs first, in words; None where nothing does."""
    state: State = {}
    new: State = {}
    for _ in range(rounds):
        for step, new_step in zip(steps, new_steps, strict=True):
            truth = run_case(with_arrays(step.case, step.arrays, state), instruction_limit)
            run = run_case(with_arrays(new_step.case, new_step.arrays, new), instruction_limit)
            forms = [one[step.number] for one in relaid if step.number in one]
            unlike = [first_unlike(form, truth, run) for form in forms]
            unlike = unlike or [_first_unlike(truth, run)]
            name = next((n for n in unlike if n is not None), None)
            if name is not None:
                return f"{name} differs behind launch {step.title}"
            keep(state, truth, step.arrays)
            keep(new, run, new_step.arrays)
    return None


def _first_unlike(truth: Execution, run: Execution) -> str | None:
    """The first array that differs between two runs of a kernel without arrays laid out anew."""
    found = dict(run.outputs)
    for name, expected in truth.outputs:
        if name in found and not compare(name, expected, found[name]).identical:
            return name
    return None


def _uncontracted(step: Step) -> Step:
    return replace(step, case=uncontracted(step.case))
