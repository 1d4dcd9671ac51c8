"""A thread's stack in its local memory: frames of recursive functions, and ``alloca``.

The stack grows upwards from the end of the fixed local variables. It holds the local variables of
recursive functions, and the registers that such a function needs after a recursive call. Which
registers these are is known only after the whole program has been lowered, so each call leaves
empty blocks for saving and restoring, which :meth:`Stack.fill` fills in.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.ir.builder import Builder, int_type
from placewise.executor.ir.nodes import (
    BITS,
    Access,
    Block,
    Branch,
    Jump,
    Node,
    Place,
    Reg,
    Switch,
    Trap,
)
from placewise.executor.lowering.traps import OVERFLOW, STACK_BYTES
from placewise.executor.passes import cfg

_ALIGN = 16


@dataclass(frozen=True)
class Call:
    """The blocks of a recursive call."""

    save: Block
    arguments: Block
    """Follows ``save``: sets the arguments and jumps to the function."""
    restore: Block
    on: Block
    """Follows ``restore``: the code after the call."""
    prefix: str
    """Begins the names of the caller's registers."""
    place: Place


class Stack:
    """The stack pointer, and recursive calls whose registers are not saved yet."""

    def __init__(self, builder: Builder, start: int) -> None:
        self.b = builder
        self.start = -(-start // _ALIGN) * _ALIGN
        self.used = False
        self.calls: list[Call] = []
        self.depot_bytes = 0
        """Size of the largest frame of local variables."""

    @property
    def end(self) -> int:
        return self.start + STACK_BYTES

    @property
    def register(self) -> Reg:
        """The stack pointer: an address in local memory."""
        self.used = True
        return self.b.reg("%stack", "i32")

    def pointer(self) -> Node:
        return self.b.get(self.register)

    def move(self, to: Node) -> None:
        self.b.set(self.register, to)

    def enter(self, frame: Reg, bytes_: int) -> None:
        """Push a frame of ``bytes_`` and set ``frame`` to its address."""
        pointer = self.pointer()
        self.b.set(frame, pointer)
        size = -(-bytes_ // _ALIGN) * _ALIGN
        self.depot_bytes = max(self.depot_bytes, size)
        self.move(self.b.pure("add", "i32", pointer, self.b.const("i32", size)))

    def check(self, pointer: Node, place: Place) -> None:
        """Trap if ``pointer`` lies beyond the stack's end; else go on in a new block."""
        full, on = self.b.new_block(), self.b.new_block()
        beyond = self.b.icmp("ugt", pointer, self.b.const("i32", self.end))
        self.b.finish(Branch(beyond, full.number, on.number))
        self.b.start(full)
        self.b.finish(Trap(place, OVERFLOW))
        self.b.start(on)

    def around(self, prefix: str, place: Place) -> Call:
        """Make the blocks of a recursive call that saves the registers named with ``prefix``.

        The caller of this method writes the blocks ``arguments`` and ``on``.
        """
        new = self.b.new_block
        call = Call(new(), new(), new(), new(), prefix, place)
        self.calls.append(call)
        return call

    def fill(self) -> None:
        """Write the saves and restores of all recursive calls; all other blocks are complete."""
        for call in self.calls:
            # Registers that are read after the call are saved, though the analysis takes the called
            # function, which writes the same registers, to lie in between.
            self.b.start(call.save)
            either = (call.arguments.number, call.on.number)
            self.b.finish(Switch(self.b.const("i32", 0), either))
            call.restore.terminator = Jump(call.on.number)
        live = cfg.live_in(self.b.blocks) if self.calls else []
        registers = list(self.b.regs.values())
        for call in self.calls:
            wanted = live[call.on.number]
            own = (r for r in registers if wanted >> r.number & 1)
            self._save(call, [r for r in own if r.name.startswith(call.prefix)])

    def _save(self, call: Call, kept: list[Reg]) -> None:
        b = self.b
        offsets: list[int] = []
        end = 0
        for reg in kept:
            size = max(8, BITS[reg.type]) // 8
            offsets.append(-(-end // size) * size)
            end = offsets[-1] + size
        size = -(-end // _ALIGN) * _ALIGN
        b.start(call.save)
        pointer = self.pointer()
        top = b.pure("add", "i32", pointer, b.const("i32", size))
        margin = b.pure("add", "i32", top, b.const("i32", self.depot_bytes))
        self.check(margin, call.place)
        pointer = self.pointer()
        for reg, offset in zip(kept, offsets, strict=True):
            value = b.get(reg)
            value = b.resize(value, "i8") if reg.type == "i1" else value
            access = _access("store", value.type, offset, call.place)
            b.access("store", "i1", access, pointer, value)
        self.move(b.pure("add", "i32", pointer, b.const("i32", size)))
        b.finish(Jump(call.arguments.number))
        b.start(call.restore)
        pointer = b.pure("sub", "i32", self.pointer(), b.const("i32", size))
        self.move(pointer)
        for reg, offset in zip(kept, offsets, strict=True):
            type_ = int_type(max(8, BITS[reg.type]))
            loaded = b.access("load", type_, _access("load", type_, offset, call.place), pointer)
            b.set(reg, b.resize(loaded, reg.type))
        b.finish(Jump(call.on.number))


def _access(kind: str, type_: str, offset: int, place: Place) -> Access:
    return Access(kind, "stack", BITS[type_], 1, "call", place, offset)
