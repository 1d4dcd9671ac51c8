"""A combination of forms written into one source, and run in sequence to prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.advisor.advice import Verification
from placewise.advisor.forms.carve_out import with_carve_out
from placewise.advisor.layouts.verify_layout import bytes_of
from placewise.advisor.programs.chain import State, Step, keep, run_case
from placewise.advisor.programs.copies import Fill
from placewise.advisor.programs.joint_search import Combination
from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor.compare import compare
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.launch import Argument, ArrayArgument, TextureArgument
from placewise.kernel.programs.program import with_arrays
from placewise.machine import Machine
from placewise.rewriter import Rewritten, rewrite
from placewise.rewriter.ways.host_buffer import FilledBuffer

ROUNDS_RUN = 2
"""Most rounds of a program that are run as its proof. Two rounds also run the copies that are made
only from the second round on."""


@dataclass(frozen=True, eq=False)
class WrittenProgram:
    """All kernels of a program in one source, each in its form."""

    source: str
    rewritten: Mapping[int, Rewritten]
    """What was written for each launch whose kernel changes, by number; its case has the whole
    source."""
    fills: tuple[Fill, ...]
    host: str
    """The host's side: buffers, objects, copies and launches in their order."""


def write_program(steps: Sequence[Step], chosen: Combination, rounds: int, machine: Machine
) -> WrittenProgram:  # fmt: skip
    """Write the forms of a combination, one kernel after another into the same source.

    An array of the program is in one buffer of constant memory, whichever kernels read it there.
    Raises UnsupportedError where a form cannot be written beside the others, or where launches of
    one kernel would need different texts.
    """
    source = steps[0].case.source
    known: dict[str, FilledBuffer] = {}
    written: dict[int, Rewritten] = {}
    by_number = {s.number: s for s in steps}
    for form in chosen.forms:
        if not form.placement.spaces:
            continue
        base, here = source, dict(known)
        for number, _ in form.options:
            step = by_number[number]
            read = read_case(replace(step.case, source=base))
            held = {p: here[a] for p, a in step.arrays.items() if a in here}
            made = rewrite(read.case, form.placement, machine, read.view, held)
            if number != form.options[0][0] and made.case.source != source:
                raise UnsupportedError(
                    f"launches of '{form.function}' would each need a version of their own",
                    where=step.case.filename,
                )
            source = made.case.source
            written[number] = with_carve_out(made, compile_case(made.case), machine)
            elements = {u.name: (u.parameter.element_type, u.elements) for u in read.view.arrays}
            known.update(_buffers(made, step, elements))
    whole = {n: replace(m, case=replace(m.case, source=source)) for n, m in written.items()}
    return WrittenProgram(source, whole, chosen.fills, _host(steps, whole, chosen.fills, rounds))


def _buffers(
    made: Rewritten, step: Step, elements: Mapping[str, tuple[str, int]]
) -> dict[str, FilledBuffer]:
    """Buffers of the written source, by the name of the program's array that they hold."""
    names = dict(made.renamed)
    sizes = {symbol: data.nbytes for symbol, data in made.case.inputs.constants}
    return {
        step.arrays[parameter]: FilledBuffer(
            names[parameter], symbol, at, sizes[symbol], *elements[parameter]
        )
        for symbol, at, parameter in made.filled
    }


def prove(
    steps: Sequence[Step], written: WrittenProgram, rounds: int, instruction_limit: int
) -> Verification:
    """Run the program as it is and as it is written, each launch on what the ones before it left,
    and compare all that they write bit for bit, launch by launch.

    Buffers in memory that the host fills hold what they held until the program copies to them.
    Errors are findings here, not failures.
    """
    state: State = {}
    new: State = {}
    buffers = _Buffers(written.fills)
    seen: set[str] = set()
    for _ in range(min(rounds, ROUNDS_RUN)):
        for step in steps:
            form = written.rewritten.get(step.number)
            try:
                truth = run_case(with_arrays(step.case, step.arrays, state), instruction_limit)
                case = _case_now(step, form, written, new, buffers)
                run = run_case(case, instruction_limit)
            except PlacewiseError as error:
                return Verification(False, f"launch {step.title} failed: {error.message}", ())
            found = dict(run.outputs)
            for name, expected in truth.outputs:
                if name not in truth.written:
                    continue
                if name not in found:
                    detail = f"written array {name} is gone in launch {step.title}"
                    return Verification(False, detail, ())
                check = compare(name, expected, found[name])
                if not check.identical:
                    detail = (
                        f"{name} differs in {check.different} of {check.elements} elements after "
                        f"launch {step.title}"
                    )
                    return Verification(False, detail, ())
            seen |= keep(state, truth, step.arrays)
            keep(new, run, step.arrays)
    rounds_run = f" over {min(rounds, ROUNDS_RUN)} rounds" if rounds > 1 else ""
    return Verification(True, f"bit-identical in sequence{rounds_run}", tuple(sorted(seen)))


class _Buffers:
    """What memory that the host fills holds while a program runs."""

    def __init__(self, fills: Sequence[Fill]) -> None:
        self._again = {f.array: f.before for f in fills}
        self._filled: set[str] = set()
        self._content: dict[str, NDArray[np.uint8]] = {}

    def is_copied(self, array: str, number: int) -> bool:
        """Whether the program copies the array in front of launch ``number``."""
        return array not in self._filled or number in self._again.get(array, ())

    def of(self, symbol: str, size: int) -> NDArray[np.uint8]:
        """The bytes of a symbol."""
        return self._content.setdefault(symbol, np.zeros(size, np.uint8))

    def copy(self, array: str, symbol: str, at: int, content: NDArray[np.uint8]) -> None:
        """Copy ``content`` to byte ``at`` of the buffer ``symbol``."""
        self._content[symbol][at : at + content.nbytes] = content
        self._filled.add(array)


def _case_now(
    step: Step, form: Rewritten | None, written: WrittenProgram, state: State, buffers: _Buffers
) -> Case:
    """The written launch with the present content of the program's arrays and buffers, after the
    copies that the program makes before this launch."""
    if form is None:
        case = replace(step.case, source=written.source)
        return with_arrays(case, step.arrays, state)
    start = {a.name: a.data for a in step.case.inputs.arrays}
    old = {new: name for name, new in form.renamed}

    def now(parameter: str) -> NDArray[np.generic]:
        return state.get(step.arrays[parameter], start[parameter])

    constants = []
    for symbol, data in form.case.inputs.constants:
        held = buffers.of(symbol, data.nbytes)
        parts = [(at, parameter) for name, at, parameter in form.filled if name == symbol]
        for at, parameter in parts:
            if buffers.is_copied(step.arrays[parameter], step.number):
                buffers.copy(step.arrays[parameter], symbol, at, bytes_of(now(parameter)))
        shown = held.copy().view(data.dtype).reshape(data.shape) if parts else data
        constants.append((symbol, shown))

    def argument(a: Argument) -> Argument:
        parameter = old.get(a.name, a.name)
        if parameter not in step.arrays or not isinstance(a, ArrayArgument | TextureArgument):
            return a
        data = bytes_of(now(parameter)).view(a.data.dtype).reshape(a.data.shape)
        if isinstance(a, ArrayArgument):
            initial = a.uninitialised and step.arrays[parameter] not in state
            return replace(a, data=data, uninitialised=initial)
        return replace(a, data=data)

    inputs = replace(
        form.case.inputs,
        arguments=tuple(argument(a) for a in form.case.inputs.arguments),
        constants=tuple(constants),
    )
    return replace(form.case, inputs=inputs)


def _host(
    steps: Sequence[Step], written: Mapping[int, Rewritten], fills: Sequence[Fill], rounds: int
) -> str:
    """The host's code, in order: once for each kernel the preparations of its form, then the rounds
    with their copies and launches."""
    # A copy from the host is left out where a copy on the device comes before each use.
    lines: list[str] = []
    launches: list[str] = []
    again = {f.array: f for f in fills if f.before}
    done: set[str] = set()
    for step in steps:
        form = written.get(step.number)
        text = [] if form is None else form.host.splitlines()
        call = next((x for x in text if x.startswith(f"{step.case.kernel}<<<")), _launch(step))
        if form is not None:
            later = {p for _, _, p in form.filled
                     if step.number in again.get(step.arrays[p], _NEVER).before}  # fmt: skip
            prepared = [
                x for x in text if x != call and x not in done and not _fills_one_of(later, x)
            ]
            done |= set(prepared)
            if prepared:
                lines += [f"// launch {step.title}", *prepared]
            for symbol, at, parameter in form.filled:
                array = step.arrays[parameter]
                if parameter in later:
                    launches.append(
                        f"cudaMemcpyToSymbolAsync({symbol}, {array}, {again[array].bytes}, "
                        f"{at}, cudaMemcpyDeviceToDevice);  // a launch has written {array}"
                    )
        call = _with_arrays_of(step, call)
        times = step.launch.times
        launches.append(f"for (int i = 0; i < {times}; i++) {call}" if times > 1 else call)
    lines.append("// the launches, with the arrays of the program")
    if rounds > 1:
        lines += [f"for (int round = 0; round < {rounds}; round++) {{"]
        lines += [f"    {line}" for line in launches] + ["}"]
    else:
        lines += launches
    return "\n".join(lines) + "\n"


_NEVER = Fill("", 0, (), 0, 0.0)


def _fills_one_of(parameters: set[str], line: str) -> bool:
    """Whether a line of host code copies one of these arrays from the host, or is the comment on
    it."""
    return any(
        f", {p}_host, " in line or (line.startswith(f"// {p}: ") and "copied from" in line)
        for p in parameters
    )


def _with_arrays_of(step: Step, call: str) -> str:
    """A launch as text, with the program's arrays in place of the parameters."""
    shape, _, arguments = call.rpartition(">>>(")
    names = [a.strip() for a in arguments.removesuffix(");").split(",")]
    return f"{shape}>>>({', '.join(step.arrays.get(n, n) for n in names)});"


def _launch(step: Step) -> str:
    """The launch of a kernel that stays as it is."""
    launch = step.case.launch
    grid, block = (f"dim3({', '.join(map(str, d))})" for d in (launch.grid, launch.block))
    shape = f"{grid}, {block}" + (f", {launch.shared_bytes}" if launch.shared_bytes else "")
    arguments = ", ".join(a.name for a in step.case.inputs.arguments)
    return f"{step.case.kernel}<<<{shape}>>>({arguments});"
