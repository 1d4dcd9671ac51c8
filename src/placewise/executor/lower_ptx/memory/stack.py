"""A thread's stack in its local memory: frames of functions that call themselves, and ``alloca``.

The stack grows upwards from behind the fixed variables. A function on a cycle of calls has its
local variables there, and before it calls into its cycle the registers that it still needs are
kept there. Both are known only when the whole program has been lowered, so calls leave blocks to
be filled.
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
    """A call into the caller's own cycle."""

    save: Block
    arguments: Block
    """Follows ``save``: stores the arguments and goes to the function."""
    restore: Block
    on: Block
    """Follows ``restore``: where the saved registers are wanted."""
    prefix: str
    """Of the caller's registers."""
    place: Place


class Stack:
    """The stack pointer, and calls whose registers are still to be saved."""

    def __init__(self, builder: Builder, start: int) -> None:
        self.b = builder
        self.start = -(-start // _ALIGN) * _ALIGN
        self.used = False
        self.calls: list[Call] = []
        self.depot_bytes = 0
        """The largest frame of local variables."""

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
        """Start of a function with local variables: ``frame`` is where they lie."""
        pointer = self.pointer()
        self.b.set(frame, pointer)
        size = -(-bytes_ // _ALIGN) * _ALIGN
        self.depot_bytes = max(self.depot_bytes, size)
        self.move(self.b.pure("add", "i32", pointer, self.b.const("i32", size)))

    def check(self, pointer: Node, place: Place) -> None:
        """Trap where the stack would grow beyond its end; goes on in a new block."""
        full, on = self.b.new_block(), self.b.new_block()
        beyond = self.b.icmp("ugt", pointer, self.b.const("i32", self.end))
        self.b.finish(Branch(beyond, full.number, on.number))
        self.b.start(full)
        self.b.finish(Trap(place, OVERFLOW))
        self.b.start(on)

    def around(self, prefix: str, place: Place) -> Call:
        """A call that keeps the registers of ``prefix``; its arguments and what follows are to
        be written by the caller."""
        new = self.b.new_block
        call = Call(new(), new(), new(), new(), prefix, place)
        self.calls.append(call)
        return call

    def fill(self) -> None:
        """Save and restore around the calls, all blocks being written but these."""
        for call in self.calls:
            # What is wanted after the call is wanted before it too, though the function that is
            # entered in between writes the same registers.
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
