"""Builds IR nodes, one block at a time, and shares equal ones."""

from __future__ import annotations

from dataclasses import replace

from placewise.executor.ir.nodes import BITS, Access, Attr, Block, Node, Reg, Sync, Terminator

_INT_OF_FLOAT = {"f16": "i16", "f32": "i32", "f64": "i64"}
_INT_OF_BITS = {1: "i1", 8: "i8", 16: "i16", 32: "i32", 64: "i64", 128: "i128"}


def int_type(bits: int) -> str:
    """The integer type of ``bits`` bits."""
    return _INT_OF_BITS[bits]


class Builder:
    """Appends nodes to the current block, and collects the program's registers and accesses.

    Within a block the builder knows each register's value, so only the first read makes a ``get``
    node and only the last write a ``set`` node.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.regs: dict[str, Reg] = {}
        self.accesses: list[Access] = []
        self.syncs: list[Sync] = []
        self.guards: list[list[int]] = []
        """Per counter of guards, the places of the instructions that it serves."""
        self.arguments: dict[str, dict[int, int]] = {}
        """Arguments of PTX calls by unique name: bits of the value stored at each byte offset."""
        self.block = Block(0)
        self._count = 0
        self._calls = 0
        self._known: dict[tuple[object, ...], Node] = {}
        self._present: dict[Reg, Node] = {}
        self._written: set[Reg] = set()
        self._counted: dict[Node, int] = {}

    def new_block(self) -> Block:
        """Add an empty block with the next number; the current block stays current."""
        block = Block(len(self.blocks))
        self.blocks.append(block)
        return block

    def next_call(self) -> int:
        """A new number, for the registers of a call that is inlined."""
        self._calls += 1
        return self._calls

    def start(self, block: Block) -> None:
        """Make ``block`` current."""
        self.block = block
        self._known = {}
        self._present = {}
        self._written = set()
        self._counted = {}

    def finish(self, terminator: Terminator) -> None:
        """Append a ``set`` for each written register and end the current block."""
        for reg in sorted(self._written, key=lambda r: r.number):
            self._append("set", reg.type, (self._present[reg],), reg)
        self._written = set()
        self.block.terminator = terminator

    def reg(self, name: str, type_: str) -> Reg:
        """The register called ``name``, made on first mention."""
        found = self.regs.get(name)
        if found is None:
            found = self.regs[name] = Reg(name, type_, len(self.regs))
        return found

    def get(self, reg: Reg) -> Node:
        """The register's value at this point."""
        found = self._present.get(reg)
        if found is None:
            found = self._present[reg] = self._append("get", reg.type, (), reg)
        return found

    def set(self, reg: Reg, value: Node) -> None:
        """Give the register a value."""
        self._present[reg] = value
        self._written.add(reg)

    def _append(self, op: str, type_: str, args: tuple[Node, ...], attr: Attr) -> Node:
        self._count += 1
        node = Node(op, type_, args, attr, self._count)
        self.block.nodes.append(node)
        return node

    def pure(self, op: str, type_: str, *args: Node, attr: Attr = None) -> Node:
        """A node without side effects. An equal node of the current block is returned instead."""
        key = (op, type_, attr, *[a.number for a in args])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._append(op, type_, args, attr)
        return found

    def effect(self, op: str, type_: str, *args: Node, attr: Attr = None) -> Node:
        """A node with side effects, or whose value depends on when it runs: never shared."""
        return self._append(op, type_, args, attr)

    @property
    def next_site(self) -> int:
        """Site number that the next memory node's access gets."""
        return len(self.accesses)

    def access(self, op: str, type_: str, access: Access, *args: Node) -> Node:
        """Append a memory node; ``access`` gets the next site number."""
        site = self.next_site
        numbered = access if access.site == site else replace(access, site=site)
        self.accesses.append(numbered)
        return self._append(op, type_, args, numbered)

    def sync(self, sync: Sync, *args: Node) -> Node:
        """Append a synchronising instruction; ``sync`` gets the next number."""
        numbered = replace(sync, number=len(self.syncs))
        self.syncs.append(numbered)
        return self._append("sync", "i1", args, numbered)

    def count_guard(self, guard: Node, place: int) -> None:
        """Count the lanes where a guard holds; equal guards of a block share a counter."""
        number = self._counted.get(guard)
        if number is None:
            number = self._counted[guard] = len(self.guards)
            self.guards.append([])
            self.effect("count", "i1", guard, attr=number)
        self.guards[number].append(place)

    def const(self, type_: str, value: int) -> Node:
        """A constant; ``value`` gives the bits, of floating-point types too."""
        return self.pure("const", type_, attr=value & ((1 << BITS[type_]) - 1))

    def icmp(self, condition: str, a: Node, b: Node) -> Node:
        return self.pure("icmp", "i1", a, b, attr=condition)

    def fcmp(self, condition: str, a: Node, b: Node) -> Node:
        return self.pure("fcmp", "i1", a, b, attr=condition)

    def select(self, condition: Node, a: Node, b: Node) -> Node:
        return a if a is b else self.pure("select", a.type, condition, a, b)

    def part(self, node: Node, number: int, type_: str) -> Node:
        return self.pure("part", type_, node, attr=number)

    def bitcast(self, value: Node, type_: str) -> Node:
        """Reinterpret the bits of ``value`` as ``type_`` of equal width."""
        if value.type == type_:
            return value
        if value.op == "bitcast":
            return self.bitcast(value.args[0], type_)
        if value.op == "const":
            return self.const(type_, value.integer)
        return self.pure("bitcast", type_, value)

    def as_int(self, value: Node) -> Node:
        """The bits of a value as an integer of the same width."""
        integer = _INT_OF_FLOAT.get(value.type)
        return value if integer is None else self.bitcast(value, integer)

    def resize(self, value: Node, type_: str, *, signed: bool = False) -> Node:
        """Truncate an integer, or extend it with zeros (with the sign if ``signed``)."""
        have, want = BITS[value.type], BITS[type_]
        if have == want:
            return value
        if value.op == "const":
            negative = signed and value.integer >> (have - 1)
            return self.const(type_, value.integer - (1 << have) if negative else value.integer)
        if have > want:
            return self.pure("trunc", type_, value)
        return self.pure("sext" if signed else "zext", type_, value)
