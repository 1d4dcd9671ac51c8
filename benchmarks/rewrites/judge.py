"""What became of the forms of one random program: right, bound to a size, refused, or wrong."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.rewrites.program import Program, described
from benchmarks.rewrites.statements import make_program
from placewise.advisor import Prepared, prepare
from placewise.errors import CompileError, ExecutionError, PlacewiseError, UnsupportedError
from placewise.executor import Execution, execute
from placewise.executor.check import Checker, Severity
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Argument, TextureArgument
from placewise.kernel.view import analyse_source
from placewise.machine import Machine, load_machine
from placewise.rewriter import Rewritten, rewrite
from placewise.rewriter.own.padding import pad, paddable
from placewise.rewriter.own.undone import undo
from placewise.space import Placement

MACHINES = ("A100", "A100", "H100", "RTX3060", "T4")
TOGETHER = 2
"""Placements of several arrays at once that are drawn of a program."""
LIMIT = 1 << 22
"""Instructions of a warp."""


@dataclass(frozen=True)
class Failure:
    """A form that is wrong."""

    kind: str
    """``does not compile``, ``other bits``, ``other bits on another input``, ``unclean``,
    ``fails``, or ``internal error``."""
    detail: str
    reproduction: str


@dataclass
class Report:
    """Counts of one program, or of many."""

    programs: int = 0
    forms: int = 0
    """Forms written and run."""
    counts: Counter[str] = field(default_factory=Counter)
    """Inputs on which a form is ``same`` or ``bound`` to another size."""
    refused: Counter[str] = field(default_factory=Counter)
    """Placements not written, by reason."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Programs that Placewise does not run at all, or that are no valid programs, by reason."""
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Count another report, too."""
        self.programs += other.programs
        self.forms += other.forms
        self.counts += other.counts
        self.refused += other.refused
        self.skipped += other.skipped
        self.failures += other.failures


@cache
def _machine(name: str) -> Machine:
    return load_machine(name)


def plain(reason: str) -> str:
    """A reason without the names and numbers of one program."""
    reason = re.sub(r"'[^']*'|\"[^\"]*\"", "…", reason.splitlines()[0])
    reason = re.sub(r"\b[\d.]+( (?:KB|MB|B))?\b", "#", reason)
    return re.sub(r"(it holds pointers|the kernel (?:writes|reads))[^;]*", r"\1 …", reason)[:110]


@dataclass(frozen=True, eq=False)
class Original:
    """A program's kernel as it is, compiled for a machine, and its runs."""

    program: Program
    prepared: Prepared
    kernel: Kernel
    cases: tuple[Case, ...]
    runs: tuple[dict[str, bytes], ...]
    """For each launch the bytes of its arrays after it."""

    def case(self, number: int) -> Case:
        """The launch's case, its arguments named."""
        return self.cases[number]


def original(program: Program) -> Original | str:
    """The program made ready, or why it cannot be judged."""
    machine = _machine(MACHINES[program.seed % len(MACHINES)])
    try:
        prepared = prepare(program.case(0), machine, instruction_limit=LIMIT)
        options = prepared.case.options
        cases, runs = [], []
        for number in range(len(program.sizes)):
            case = named_case(replace(program.case(number), options=options))
            checker = Checker()
            run = executed(prepared.kernel, case, checker)
            bad = findings(checker)
            if bad:
                return f"not a clean program: {bad[0]}"
            cases.append(case)
            runs.append(_bytes(run))
    except PlacewiseError as error:
        return f"{type(error).__name__}: {error.message.splitlines()[0]}"
    return Original(program, prepared, prepared.kernel, tuple(cases), tuple(runs))


def placements(known: Original) -> Iterator[Placement]:
    """Each array alone in each legal space, some of them together, tiles by chunks of a loop, alone
    and beside moves of other arrays, and the program's own shared arrays padded or in global
    memory."""
    legality = known.prepared.legality
    for array in known.prepared.view.shared:
        yield Placement(((array, "global"),))
        yield Placement((), padded=(array,))
    present = legality.present
    for array in legality.arrays:
        for space in legality.spaces(array):
            if space != present[array]:
                yield Placement(((array, space),))
    drawn = np.random.default_rng(known.program.seed)
    for _ in range(TOGETHER):
        # Drawn, not listed: with twelve arrays the combinations do not fit into memory.
        spaces = [(a, str(drawn.choice(legality.searched(a)))) for a in legality.arrays]
        together = Placement(tuple(spaces))
        if len(together.moved(present)) > 1 and legality.fits(together) is None:
            yield together.moved_part(present)
    chunked = [p for p in legality.chunked if p.moved(present)]
    for at in drawn.permutation(len(chunked))[:TOGETHER]:
        yield chunked[at].moved_part(present)
        yield replace(chunked[at].moved_part(present), buffers=2)
    if chunked:
        tiled = chunked[drawn.integers(len(chunked))]
        moved = {array: space for array, _, space in tiled.moved(present)}
        for array in legality.arrays:
            spaces = legality.spaces(array)
            if array not in moved and len(spaces) > 1:
                moved[array] = spaces[drawn.integers(len(spaces))]
        whole = Placement(tuple((a, moved.get(a, s)) for a, s in present), tiled.chunk)
        if legality.fits(replace(whole, chunk=None)) is None:
            yield whole.moved_part(present)


def judge(seed: int, most: int) -> tuple[Report, Original | None]:
    """Placements of the program of a seed, ``most`` of them drawn at random, and the program made
    ready; None where it cannot be judged."""
    report = Report(programs=1)
    program = make_program(seed)
    try:
        known = original(program)
    except Exception as error:
        report.failures.append(_internal(program, (), None, error))
        return report, None
    if isinstance(known, str):
        report.skipped[plain(known)] += 1
        return report, None
    for choice in known.prepared.legality.illegal:
        if choice.reason is not None:
            report.refused[plain(choice.reason)] += 1
    forms = list(placements(known))
    drawn = np.random.default_rng(seed).permutation(len(forms))[:most]
    for placement in (forms[at] for at in sorted(drawn)):
        failure = judge_form(known, placement, report)
        if failure is not None:
            report.failures.append(minimised(program, placement, failure))
    return report, known


def judge_form(known: Original, placement: Placement, report: Report) -> Failure | None:
    """Write the form, compile it, run it on all inputs; None where all is well."""
    prepared = known.prepared

    def failure(kind: str, detail: str) -> Failure:
        text = described(known.program, placement.spaces, placement.chunk)
        return Failure(kind, f"{prepared.machine.name}: {detail}", text)

    try:
        if placement.padded:
            what = paddable(prepared.case, prepared.view, *placement.padded)
            written = pad(prepared.case, prepared.view, what)
        elif placement.arrays[0] in prepared.view.shared:
            written = undo(prepared.case, prepared.view, *placement.spaces[0])
        else:
            written = rewrite(prepared.case, placement, prepared.machine, prepared.view)
    except UnsupportedError as error:
        report.refused[plain(error.message)] += 1
        return None
    except Exception as error:
        return _internal(known.program, placement.spaces, placement.chunk, error)
    report.forms += 1
    try:
        kernel = compile_case(written.case)
    except CompileError as error:
        return failure("does not compile", f"{error.message}\n{written.case.source}")
    for number in range(len(known.cases)):
        case = (
            written.case if number == 0 else placed_like(written, known.case(0), known.case(number))
        )
        if case is None:
            report.counts["bound"] += 1
            continue
        checker = Checker()
        try:
            run = executed(kernel, case, checker)
        except ExecutionError as error:
            return failure("fails", f"on input {number}: {error.message}\n{written.case.source}")
        except Exception as error:
            return _internal(known.program, placement.spaces, placement.chunk, error)
        if any(f.kind == "trap" for f in checker.findings):
            if number == 0:
                return failure("fails", f"traps on the proof's input\n{written.case.source}")
            report.counts["bound"] += 1
            continue
        bad = findings(checker)
        if bad:
            text = f"on input {number}: {bad[0]}\n{written.case.source}"
            return failure("unclean", text)
        found = _bytes(run)
        unlike = [n for n, b in known.runs[number].items() if found.get(n, b) != b]
        gone = [n for n in known.runs[number] if n not in found and n in run.written]
        if unlike or gone:
            kind = "other bits" if number == 0 else "other bits on another input"
            return failure(kind, f"{', '.join(unlike + gone)}\n{written.case.source}")
        report.counts["same"] += 1
    return None


def placed_like(written: Rewritten, first: Case, other: Case) -> Case | None:
    """The written source, made for ``first``, on another input, as a host program would call it;
    None where constant memory was declared for another length, or where an array has no rows as a
    texture of two dimensions needs them."""
    arrays = {a.name: a.data for a in other.inputs.arrays}
    old = {new: array for array, new in written.renamed}
    pitched = {
        old[a.name]
        for a in written.case.inputs.arguments
        if isinstance(a, TextureArgument) and a.geometry == "pitch"
    }
    uses = analyse_source(other).arrays if pitched else ()
    rows = {u.name: u.rows for u in uses if u.name in pitched}
    if any(found is None for found in rows.values()):
        return None
    given = {a.name: a for a in other.inputs.arguments}
    arguments: list[Argument] = []
    for argument in written.case.inputs.arguments:
        if isinstance(argument, TextureArgument) and argument.name in old:
            name = old[argument.name]
            width = found.pitch if (found := rows.get(name)) else None
            arguments.append(_texture(argument, arrays[name], width))
        else:
            arguments.append(given[argument.name])
    constants = []
    declared = {a.name: a.data.nbytes for a in first.inputs.arrays}
    for name, data in written.case.inputs.constants:
        held = [a for a, new in written.renamed if new == name or new.startswith(f"{name}.")]
        if any(arrays[a].nbytes != declared[a] for a in held):
            return None
        constants.append((name, _joined([arrays[a] for a in held]) if held else data))
    inputs = replace(other.inputs, arguments=tuple(arguments), constants=tuple(constants))
    launch = replace(other.launch, shared_bytes=written.case.launch.shared_bytes)
    return replace(written.case, launch=launch, inputs=inputs)


def _joined(arrays: list[NDArray[np.generic]]) -> NDArray[np.generic]:
    """The content of a constant buffer: an array, or several at multiples of 16 bytes."""
    if len(arrays) == 1:
        return arrays[0]
    parts = [np.frombuffer(a.tobytes() + bytes(-a.nbytes % 16), np.uint8) for a in arrays]
    return np.concatenate(parts)


def _texture(
    argument: TextureArgument, data: NDArray[np.generic], width: int | None
) -> TextureArgument:
    shape = (-1, *argument.data.shape[1:])
    if width is not None:
        shape = (-1, width, *argument.data.shape[2:])
    texels = data.reshape(-1).view(np.uint8).view(argument.data.dtype).reshape(shape)
    return replace(argument, data=texels)


def minimised(program: Program, placement: Placement, failure: Failure) -> Failure:
    """The failure of the smallest program that is left when statements are dropped."""
    smaller = True
    while smaller and failure.kind != "internal error":
        smaller = False
        for at in range(len(program.statements)):
            if len(program.statements) == 1:
                break
            less = program.without(at)
            names = {p.name for p in less.used}
            spaces = tuple((a, s) for a, s in placement.spaces if a in names)
            if not spaces:
                continue
            found = _again(less, replace(placement, spaces=spaces))
            if found is not None and found.kind == failure.kind:
                program, failure, smaller = less, found, True
                placement = replace(placement, spaces=spaces)
                break
    for at in range(len(placement.spaces)):
        spaces = placement.spaces[:at] + placement.spaces[at + 1 :]
        found = _again(program, replace(placement, spaces=spaces)) if spaces else None
        if found is not None and found.kind == failure.kind:
            return minimised(program, replace(placement, spaces=spaces), found)
    return failure


def _again(program: Program, placement: Placement) -> Failure | None:
    try:
        known = original(program)
        return None if isinstance(known, str) else judge_form(known, placement, Report())
    except PlacewiseError:
        return None


def _internal(
    program: Program, spaces: tuple[tuple[str, str], ...], chunk: int | None, error: Exception
) -> Failure:
    detail = "".join(traceback.format_exception(error)[-3:])
    return Failure("internal error", detail, described(program, spaces, chunk))


def executed(kernel: Kernel, case: Case, checker: Checker) -> Execution:
    """A run under the checker, on one thread."""
    return execute(
        kernel, case.launch, case.inputs, instruction_limit=LIMIT, threads=1, check=checker
    )


def findings(checker: Checker) -> list[str]:
    """What the checker found, notes apart."""
    return [str(f) for f in checker.findings if f.severity is not Severity.note]


def _bytes(run: Execution) -> dict[str, bytes]:
    return {name: data.tobytes() for name, data in run.outputs}
