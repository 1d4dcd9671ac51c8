"""Launches, blocks and the turns that their threads take."""

from dataclasses import dataclass

import numpy as np

from placewise.kernel.launch import ArrayArgument, ScalarArgument
from placewise.kernel.ptx import parse_ptx
from reference.collectives import meet
from reference.memory import WINDOW, KernelError, Memory
from reference.operands import Names
from reference.steps import Meeting, Waiting, decode_function

MOST_STEPS = 200_000
"""Per thread; an endless loop ends here."""


class Frame:
    """One activation of a function."""

    def __init__(self, thread, parameters):
        self.thread = thread
        self.registers = {}
        self.parameters = parameters
        self.carry = 0


class Thread:
    def __init__(self, block, linear, local_bytes):
        self.block = block
        self.linear = linear
        x, y, _ = block.launch.block
        self.tid = (linear % x, linear // x % y, linear // (x * y))
        self.local = bytearray(local_bytes)
        self.steps_taken = 0

    def run(self, program, name, parameters):
        """Generator of what the thread cannot do alone; returns whether the thread has ended."""
        frame = Frame(self, parameters)
        function = program.module.functions[name]
        for variable in function.locals:
            if variable.space == "param":
                parameters[variable.name] = bytearray(variable.size)
        steps = program.steps[name]
        at = 0
        while at < len(steps):
            kind, action, guard = steps[at]
            at += 1
            self.steps_taken += 1
            if self.steps_taken > MOST_STEPS:
                raise KernelError("the kernel does not end")
            if guard is not None and not guard(frame):
                continue
            if kind == "do":
                action(frame)
            elif kind == "go":
                at = action(frame)
            elif kind == "return":
                return False
            elif kind == "exit":
                return True
            elif kind == "call":
                ended = yield from self._call(program, frame, *action)
                if ended:
                    return True
            else:
                bring, take = action
                result = yield bring(frame)
                take(frame, result)
        return False

    def _call(self, program, frame, callee, arguments, results):
        function = program.module.functions.get(callee)
        if function is None:
            raise KernelError(f"{callee} has no body")
        given = {
            formal.name: bytearray(frame.parameters[actual.name])
            for formal, actual in zip(function.parameters, arguments, strict=True)
        }
        given |= {formal.name: bytearray(formal.size) for formal in function.results}
        ended = yield from self.run(program, callee, given)
        for formal, actual in zip(function.results, results, strict=True):
            frame.parameters[actual.name][:] = given[formal.name]
        return ended


@dataclass
class Block:
    launch: object
    memory: Memory
    number: int
    shared: bytearray
    parameters: bytearray

    @property
    def index(self):
        x, y, _ = self.launch.grid
        return self.number % x, self.number // x % y, self.number // (x * y)

    def run(self, program):
        """Let each thread go as far as it can alone, then settle a collective or a barrier."""
        threads = [
            Thread(self, n, program.local_bytes) for n in range(self.launch.threads_per_block)
        ]
        running = {
            t.linear: t.run(program, program.entry, program.named_parameters(self.parameters))
            for t in threads
        }
        blocked = {}

        def resume(n, value):
            try:
                blocked[n] = running[n].send(value)
            except StopIteration:
                del running[n]

        for n in list(running):
            resume(n, None)
        arrivals = {}
        while running:
            for n, value in self._settled(running, blocked, arrivals).items():
                blocked.pop(n)
                resume(n, value)

    def _settled(self, running, blocked, arrivals):
        """Threads that can go on, with what each is told."""
        for n, request in blocked.items():
            # An arrival without waiting counts once and lets its thread go on.
            if isinstance(request, Waiting) and request.arrive_only:
                arrivals.setdefault(request.barrier, []).append(request)
                return {n: []}
        by_place = {}
        for n, request in blocked.items():
            if isinstance(request, Meeting):
                by_place.setdefault((n // 32, request.line, request.lanes), []).append(n)
        for (warp, _, lanes), members in sorted(by_place.items(), key=lambda i: i[0][:2]):
            if lanes is None:
                continue
            expected = {warp * 32 + lane for lane in range(32) if lanes >> lane & 1}
            if expected & running.keys() == set(members):
                return _met(members, blocked)
        for (_, _, lanes), members in sorted(by_place.items(), key=lambda i: i[0][:2]):
            if lanes is None:
                return _met(members, blocked)
        waiting = {}
        for n, request in blocked.items():
            if isinstance(request, Waiting):
                waiting.setdefault(request.barrier, []).append(n)
        for barrier, members in waiting.items():
            requests = [blocked[n] for n in members] + arrivals.get(barrier, [])
            count = requests[0].count
            if len(requests) == (len(running) if count is None else count):
                arrivals.pop(barrier, None)
                predicates = [r.predicate for r in requests]
                return dict.fromkeys(members, predicates)
        raise KernelError(f"deadlock: {sorted(set(blocked.values()))}")


def _met(members, blocked):
    what = blocked[members[0]].what
    results = meet(what, {n % 32: blocked[n].values for n in members})
    return {n: results[n % 32] for n in members}


class Program:
    """A module made ready to run."""

    def __init__(self, kernel, memory, constants):
        self.module = parse_ptx(kernel.ptx, kernel.entry)
        self.entry = kernel.entry
        functions = self.module.functions.values()
        shared = [v for v in self.module.variables.values() if v.space == "shared"]
        shared += [v for f in functions for v in f.locals if v.space == "shared"]
        self.names = Names()
        self.names.shared, static = _place([v for v in shared if v.size])
        dynamic = [v for v in shared if not v.size]
        self.shared_bytes = _aligned(static, max((v.align for v in dynamic), default=1))
        self.names.shared |= {v.name: self.shared_bytes for v in dynamic}
        self.names.local, self.local_bytes = _place(
            [v for f in functions for v in f.locals if v.space == "local"]
        )
        self.parameters = self.module.functions[kernel.entry].parameters
        self.names.parameters, self.parameter_bytes = _place(self.parameters)
        self._place_variables(memory, dict(constants))
        self.steps = {f.name: decode_function(f, self.names) for f in functions}

    def _place_variables(self, memory, constants):
        variables = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        for v in variables:
            data = constants[v.name].tobytes() if v.name in constants else v.initial
            self.names.everywhere[v.name] = memory.add(v.name, data or bytes(v.size))
        for v in variables:
            region = memory.regions[self.names.everywhere[v.name] >> WINDOW]
            for offset, symbol, addend in v.relocations:
                address = self.names.address(symbol) + addend
                region.data[offset : offset + 8] = address.to_bytes(8, "little")

    def named_parameters(self, data):
        """The entry's parameters by name."""
        return {
            p.name: bytearray(data[self.names.parameters[p.name] :][: p.size])
            for p in self.parameters
        }


def _aligned(n, align):
    return -(-n // align) * align


def _place(variables):
    offsets, end = {}, 0
    for v in variables:
        offsets[v.name] = _aligned(end, v.align)
        end = offsets[v.name] + v.size
    return offsets, end


@dataclass
class Result:
    """Arrays after the run by name, and every access to memory in the order it happened."""

    outputs: dict[str, np.ndarray]
    accesses: list


def interpret(kernel, launch, inputs):
    """Run every thread of a launch."""
    memory = Memory()
    program = Program(kernel, memory, inputs.constants)
    parameters = bytearray(program.parameter_bytes)
    windows = {}
    for p, argument in zip(program.parameters, inputs.arguments, strict=True):
        if isinstance(argument, ScalarArgument):
            data = np.asarray(argument.value).tobytes()
        else:
            texel = None
            if not isinstance(argument, ArrayArgument):
                shape = argument.data.shape
                texel = (argument.data.dtype.str[1:], shape[1] if len(shape) > 1 else 1)
            address = memory.add(argument.name, argument.data.tobytes(), texel)
            windows[argument.name] = address >> WINDOW
            data = address.to_bytes(8, "little")
        if len(data) != p.size:
            raise KernelError(f"argument '{argument.name}' has {len(data)} bytes, not {p.size}")
        at = program.names.parameters[p.name]
        parameters[at : at + p.size] = data
    shared_bytes = program.shared_bytes + launch.shared_bytes
    for number in range(launch.blocks):
        Block(launch, memory, number, bytearray(shared_bytes), parameters).run(program)
    outputs = {
        a.name: np.frombuffer(bytes(memory.regions[windows[a.name]].data), a.data.dtype).reshape(
            a.data.shape
        )
        for a in inputs.arrays
    }
    return Result(outputs, memory.accesses)
