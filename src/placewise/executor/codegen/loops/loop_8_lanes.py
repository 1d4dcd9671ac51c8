"""Loops that only a few lanes of a warp still run: the same code for vectors of eight lanes.

Lanes leave a loop one after another where its length depends on data, as rows of a sparse matrix
do, and the last few of 32 would cost as much as all. Once no more than eight are left, their
registers are compressed into vectors of eight, with which a second version of the loop goes on.
When some lanes leave the loop, their registers are stored in the buffers of the whole warp, and the
others move up, so active lanes are always the first ones, in the order of their numbers. At the end
all registers are vectors of 32 again, as if the warp's code had run the loop.
"""

from __future__ import annotations

from placewise.executor.codegen.accesses.access import Kind, all_inside, find_range, kind_of, touch
from placewise.executor.codegen.accesses.calls import keep
from placewise.executor.codegen.control import control_flow
from placewise.executor.codegen.state import State
from placewise.executor.codegen.text import LLVM, lanes
from placewise.executor.codegen.tracing import records
from placewise.executor.codegen.values import nodes
from placewise.executor.ir.nodes import ELEMENTWISE, Access, Block, Branch, Node, Reg

WIDTH = 8
"""Lanes of the narrow version. Their 64-bit numbers fill one vector register of 512 bits."""

_FEW = 4
"""Most active lanes for which only the elements of these lanes are loaded."""

_LOADS = 24
"""Most loads of a loop that gets a narrow version. More would take LLVM long to compile."""


def eligible(s: State, block: Block, wanted: list[Node]) -> bool:
    """Whether a block is a loop by itself that lanes leave at different times, and does nothing but
    compute and load."""
    t = block.terminator
    if not s.hot or s.options.quick or s.options.checked is not None:
        return False
    if not isinstance(t, Branch) or t.condition.uniform or t.taken == t.other:
        return False
    if block.number not in (t.taken, t.other) or block.number in s.flow.gives_way:
        return False
    # Groups of lanes that arrive where all meet are counted by the warp's code only.
    if exit_of(block) in s.meetings:
        return False
    # Lanes that wait at blocks before this one would run first.
    if s.flow.pending[block.number] & (1 << block.number) - 1 or exit_of(block) < block.number:
        return False
    varying = [n for n in wanted if n.op == "load" and not n.uniform]
    return 0 < len(varying) <= _LOADS and all(_simple(n) for n in wanted)


def _simple(n: Node) -> bool:
    if n.op == "load":
        return n.uniform or (len(n.args) == 1 and kind_of(n.access, traced=False).memory != "local")
    if n.op in ("get", "set"):
        return n.reg.type != "i1" or (n.op == "get" and n.uniform)
    if n.op in ELEMENTWISE or n.op in ("const", "param", "part"):
        return True
    return n.op == "special" and n.uniform


def exit_of(block: Block) -> int:
    """The block after a loop of one block."""
    t = block.terminator
    assert isinstance(t, Branch)
    return t.other if t.taken == block.number else t.taken


def emit(s: State, block: Block, wanted: list[Node]) -> None:
    """Emit the narrow version of a loop and the branch to it. The code that follows runs where more
    lanes are active."""
    warp_mask = s.mask
    active = s.call("i32", "llvm.ctpop.i32", ("i32", warp_mask))
    few, many = s.label(), s.label()
    s.do(f"br i1 {s.op(f'icmp ule i32 {active}, {WIDTH}')}, label %{few}, label %{many}")
    s.start(few)
    _Loop(s, block, wanted, warp_mask, active).emit()
    s.begin_block()
    s.mask = warp_mask
    s.start(many)


class _Loop:
    """One loop's narrow version under construction."""

    def __init__(
        self, s: State, block: Block, wanted: list[Node], warp_mask: str, active: str
    ) -> None:
        self.s = s
        self.block = block
        self.wanted = wanted
        self.warp_mask = warp_mask
        self.active = active
        self.head, self.leave, self.end = s.label(), s.label(), s.label()
        regs = {n.reg for n in wanted if n.op in ("get", "set")}
        self.regs = sorted((r for r in regs if s.varies(r)), key=lambda r: r.number)
        written = {n.attr for n in wanted if n.op == "set"}
        self.kept: list[Reg] = []
        """Registers that lanes have changed and somebody may read after the loop."""
        if not s.flow.exits >> exit_of(block) & 1:
            live = s.flow.live_in[exit_of(block)]
            self.kept = [r for r in self.regs if r in written and live >> r.number & 1]
        self.name = f"%n{block.number}"

    def _place(self, reg: Reg) -> str:
        """Pointer to a register's vector of eight."""
        return f"{self.name}.r{reg.number}"

    def _room(self, reg: Reg) -> str:
        """Pointer to a register's buffer with one element for each lane of the warp, and a
        spare."""
        return f"{self.name}.w{reg.number}"

    def emit(self) -> None:
        """Emit the narrow version; ends at the start of the block after the loop."""
        s = self.s
        s.width = WIDTH
        self._enter()
        s.do(f"br label %{self.head}")
        s.start(self.head)
        self._turn()
        s.width = 32
        s.start(self.end)
        for reg in self.kept:
            type_ = s.reg_type(reg)
            s.do(
                f"store {type_} {s.op(f'load {type_}, ptr {self._room(reg)}')}, ptr %r{reg.number}"
            )
        s.mask = self.warp_mask
        control_flow.proceed(s, exit_of(self.block), self.warp_mask, self.block.number)

    def _enter(self) -> None:
        """Number the active lanes, and compress their registers into vectors of eight."""
        s = self.s
        v = s.wide("i32")
        s.reserved += [f"{self.name}.{x} = alloca i32" for x in ("mask", "count")]
        s.reserved.append(f"{self.name}.lanes = alloca {v}")
        left, numbers, which = self.warp_mask, [], "poison"
        for k in range(WIDTH):
            # With no lane left it is 32, the spare element of the registers' buffers.
            number = s.call("i32", "llvm.cttz.i32", ("i32", left), ("i1", "false"))
            numbers.append(number)
            which = s.op(f"insertelement {v} {which}, i32 {number}, i64 {k}")
            left = s.op(f"and i32 {left}, {s.op(f'sub i32 {left}, 1')}")
        for name, type_, value in (
            ("mask", "i32", self.warp_mask),
            ("count", "i32", self.active),
            ("lanes", v, which),
        ):
            s.do(f"store {type_} {value}, ptr {self.name}.{name}")
        for reg in self.regs:
            e = LLVM[reg.type]
            s.reserved.append(f"{self._place(reg)} = alloca {s.wide(e)}")
            s.reserved.append(f"{self._room(reg)} = alloca [33 x {e}], align 64")
            type_ = s.reg_type(reg)
            s.do(
                f"store {type_} {s.op(f'load {type_}, ptr %r{reg.number}')}, ptr {self._room(reg)}"
            )
            whole = "poison"
            for k, number in enumerate(numbers):
                at = s.op(f"getelementptr {e}, ptr {self._room(reg)}, i32 {number}")
                one = s.op(f"load {e}, ptr {at}")
                whole = s.op(f"insertelement {s.wide(e)} {whole}, {e} {one}, i64 {k}")
            s.do(f"store {s.wide(e)} {whole}, ptr {self._place(reg)}")

    def _turn(self) -> None:
        """Emit one iteration of the loop, and what follows when lanes leave it."""
        s, block = self.s, self.block
        s.begin_block()
        self.mask = s.mask = s.op(f"load i32, ptr {self.name}.mask")
        self.count = s.op(f"load i32, ptr {self.name}.count")
        self.long_count = s.op(f"zext i32 {self.count} to i64")
        v = s.wide("i32")
        self.flags = s.op(f"icmp ult {v} {lanes(range(WIDTH))}, {s.splat('i32', self.count)}")
        control_flow.use_fuel(s, block)
        s.count(2 * block.number, "1")
        s.count(2 * block.number + 1, self.long_count)
        recording = bool(s.options.traced) and any(isinstance(n.attr, Access) for n in self.wanted)
        if recording:
            records.begin_rows(s)
            s.words = records.words_of(s, s.mask)
        for n in self.wanted:
            self._node(n)
        if recording:
            records.give_back(s)
        t = block.terminator
        assert isinstance(t, Branch)
        stays = s.mask_of(t.condition)
        if t.taken != block.number:
            stays = s.op(f"xor i32 {stays}, -1")
        all_ = s.op(f"sub i32 {s.op(f'shl i32 1, {self.count}')}, 1")
        stays = s.op(f"and i32 {stays}, {all_}")
        every = s.op(f"icmp eq i32 {stays}, {all_}")
        s.do(f"br i1 {every}, label %{self.head}, label %{self.leave}, !prof !1")
        s.start(self.leave)
        self._leave(stays)

    def _leave(self, stays: str) -> None:
        """Lanes not in ``stays`` leave; the others move up."""
        s = self.s
        v = s.wide("i32")
        mask = s.call("i32", "llvm.x86.bmi.pdep.32", ("i32", stays), ("i32", self.mask))
        if s.flow.exits >> exit_of(self.block) & 1:
            gone = s.op(f"xor i32 {mask}, {self.mask}")
            control_flow.count_exit(s, exit_of(self.block), gone)
        which = s.op(f"load {v}, ptr {self.name}.lanes")
        for reg in self.kept:
            e = LLVM[reg.type]
            value = s.op(f"load {s.wide(e)}, ptr {self._place(reg)}")
            for k in range(WIDTH):
                number = s.op(f"extractelement {v} {which}, i64 {k}")
                at = s.op(f"getelementptr {e}, ptr {self._room(reg)}, i32 {number}")
                one = s.op(f"extractelement {s.wide(e)} {value}, i64 {k}")
                s.do(f"store {e} {one}, ptr {at}")
        flags = s.op(f"bitcast i{WIDTH} {s.op(f'trunc i32 {stays} to i{WIDTH}')} to {s.wide('i1')}")
        s.do(
            f"store {v} {self._compress('i32', which, flags, 'splat (i32 32)')}, "
            f"ptr {self.name}.lanes"
        )
        for reg in self.regs:
            type_ = s.wide(reg.type)
            value = s.op(f"load {type_}, ptr {self._place(reg)}")
            moved = self._compress(reg.type, value, flags, value)
            s.do(f"store {type_} {moved}, ptr {self._place(reg)}")
        left = s.call("i32", "llvm.ctpop.i32", ("i32", stays))
        s.do(f"store i32 {mask}, ptr {self.name}.mask")
        s.do(f"store i32 {left}, ptr {self.name}.count")
        none = s.op(f"icmp eq i32 {left}, 0")
        s.do(f"br i1 {none}, label %{self.end}, label %{self.head}")

    def _compress(self, type_: str, value: str, flags: str, rest: str) -> str:
        s = self.s
        v = s.wide(type_)
        return s.call(
            v,
            f"llvm.experimental.vector.compress.{s.overload(type_, wide=True)}",
            (v, value),
            (s.wide("i1"), flags),
            (v, rest),
        )

    # --- nodes

    def _node(self, n: Node) -> None:
        s = self.s
        if n.op == "get" and not n.uniform:
            s.set(n, s.op(f"load {s.wide(n.type)}, ptr {self._place(n.reg)}"))
        elif n.op == "set" and s.varies(n.reg):
            value = s.vector(n.args[0])
            s.do(f"store {s.wide(n.reg.type)} {value}, ptr {self._place(n.reg)}")
        elif n.op == "load" and not n.uniform:
            self._load(n)
        else:
            nodes.emit(s, n, 0)

    def _load(self, n: Node) -> None:
        """A load by the addresses of the active lanes."""
        s, access = self.s, n.access
        kind = kind_of(access, traced=access.space in s.options.traced)
        a = kind.address
        address = s.vector(n.args[0])
        if access.offset:
            address = s.op(f"add {s.wide(a)} {address}, splat ({a} {access.offset})")
        first = s.op(f"extractelement {s.wide(a)} {address}, i64 0")
        found = find_range(s, kind, first)
        relative, size = address, found.size
        if a == "i64":
            relative = s.op(f"sub {s.wide(a)} {address}, {s.splat(a, found.start)}")
            start = s.op(f"sub i64 {first}, {found.start}")
        else:
            size = s.op(f"trunc i64 {size} to i32")
            start = s.op(f"zext i32 {first} to i64")
        inside = all_inside(s, a, relative, size, kind.lane_bytes)
        # Lanes that are not active load from the first lane's address.
        single = s.splat(a, start if a == "i64" else first)
        safe = s.op(
            f"select {s.wide('i1')} {self.flags}, {s.wide(a)} {relative}, {s.wide(a)} {single}"
        )
        bad = s.op(f"xor {s.wide('i1')} {inside}, splat (i1 true)")
        wrong = s.op(f"and {s.wide('i1')} {bad}, {self.flags}")
        bits = s.op(f"bitcast {s.wide('i1')} {wrong} to i{WIDTH}")
        good, slow, join = s.label(), s.label(), s.label()
        s.do(f"br i1 {s.op(f'icmp eq i{WIDTH} {bits}, 0')}, label %{good}, label %{slow}, !prof !1")
        s.start(good)
        touch(s, found, "load")
        if kind.traced:
            self._record(access, found.place, start, safe, a)
        values = self._gather(kind, found.host, safe)
        fast_end = s.label()
        s.do(f"br label %{fast_end}")
        s.start(fast_end)
        s.do(f"br label %{join}")
        s.start(slow)
        others = self._by_warp(n, access, kind, address)
        slow_end = s.label()
        s.do(f"br label %{slow_end}")
        s.start(slow_end)
        s.do(f"br label %{join}")
        s.start(join)
        v = s.wide(kind.element)
        merged = [
            s.op(f"phi {v} [ {x}, %{fast_end} ], [ {y}, %{slow_end} ]")
            for x, y in zip(values, others, strict=True)
        ]
        result = v if kind.count == 1 else "{ " + ", ".join([v] * kind.count) + " }"
        whole = merged[0]
        if kind.count > 1:
            whole = "poison"
            for k, value in enumerate(merged):
                whole = s.op(f"insertvalue {result} {whole}, {v} {value}, {k}")
        keep(s, n, access, result, whole)

    def _record(self, access: Access, place: str, start: str, offsets: str, type_: str) -> None:
        s = self.s
        kept = "i64" if s.options.large else "i32"
        if kept != type_:
            step = "trunc" if type_ == "i64" else "zext"
            offsets = s.op(f"{step} {s.wide(type_)} {offsets} to {s.wide(kept)}")
        address = s.op(f"add i64 {start}, {place}")
        records.write_row(
            s, access.site, self.mask, address, offsets, self.long_count, large=s.options.large
        )

    def _gather(self, kind: Kind, host: str, offsets: str) -> list[str]:
        """The elements at ``host`` plus these offsets, which are all in bounds."""
        s = self.s
        if not s.options.processor.slow_gather:
            return [
                self._gather_by_hardware(kind, self._moved(kind, host, k), offsets)
                for k in range(kind.count)
            ]
        few, many, join = s.label(), s.label(), s.label()
        s.do(f"br i1 {s.op(f'icmp ule i32 {self.count}, {_FEW}')}, label %{few}, label %{many}")
        ways = []
        for label, number in ((few, _FEW), (many, WIDTH)):
            s.start(label)
            ways.append(
                [
                    self._singly(kind, self._moved(kind, host, k), offsets, number)
                    for k in range(kind.count)
                ]
            )
            s.do(f"br label %{join}")
        s.start(join)
        v = s.wide(kind.element)
        return [
            s.op(f"phi {v} [ {x}, %{few} ], [ {y}, %{many} ]") for x, y in zip(*ways, strict=True)
        ]

    def _moved(self, kind: Kind, host: str, element: int) -> str:
        """The pointer ``element`` elements after ``host``."""
        if not element:
            return host
        return self.s.op(f"getelementptr i8, ptr {host}, i64 {element * kind.bits // 8}")

    def _singly(self, kind: Kind, host: str, offsets: str, number: int) -> str:
        s, e, a = self.s, kind.element, kind.address
        whole = "zeroinitializer"
        for k in range(number):
            offset = s.op(f"extractelement {s.wide(a)} {offsets}, i64 {k}")
            if a == "i32":
                offset = s.op(f"zext i32 {offset} to i64")
            at = s.op(f"getelementptr i8, ptr {host}, i64 {offset}")
            one = s.op(f"load {e}, ptr {at}, align {kind.bits // 8}")
            whole = s.op(f"insertelement {s.wide(e)} {whole}, {e} {one}, i64 {k}")
        return whole

    def _gather_by_hardware(self, kind: Kind, host: str, offsets: str) -> str:
        s, e = self.s, kind.element
        pointers = s.op(f"getelementptr i8, ptr {host}, {s.wide(kind.address)} {offsets}")
        return s.call(
            s.wide(e),
            f"llvm.masked.gather.v{WIDTH}{e}.v{WIDTH}p0",
            (f"<{WIDTH} x ptr>", pointers),
            ("i32", str(kind.bits // 8)),
            (s.wide("i1"), self.flags),
            (s.wide(e), "zeroinitializer"),
        )

    def _by_warp(self, n: Node, access: Access, kind: Kind, address: str) -> list[str]:
        """The load by the helper for 32 lanes, which does it one by one or reports a fault."""
        s, e, a = self.s, kind.element, kind.address
        s.needs.general.add(kind)
        addresses = f"{self.name}.a{n.number}"
        s.reserved.append(f"{addresses} = alloca [33 x {a}], align 64")
        rooms = [f"{self.name}.v{n.number}.{k}" for k in range(kind.count)]
        s.reserved += [f"{room} = alloca [33 x {e}], align 64" for room in rooms]
        s.do(f"store <32 x {a}> zeroinitializer, ptr {addresses}")
        which = s.op(f"load {s.wide('i32')}, ptr {self.name}.lanes")
        numbers = [s.op(f"extractelement {s.wide('i32')} {which}, i64 {k}") for k in range(WIDTH)]
        for k, number in enumerate(numbers):
            one = s.op(f"extractelement {s.wide(a)} {address}, i64 {k}")
            s.do(
                f"store {a} {one}, ptr {s.op(f'getelementptr {a}, ptr {addresses}, i32 {number}')}"
            )
        all_ = s.op(f"load <32 x {a}>, ptr {addresses}")
        call = (
            f"call fastcc {kind.vector_result} {kind.name}.general(ptr %ctx, <32 x {a}> {all_}, "
            f"i32 {self.mask}, i32 {access.site})"
        )
        if s.options.traced:
            records.give_back(s)
        value = s.op(call)
        if s.options.traced:
            records.take_over(s)
        results = []
        for k, room in enumerate(rooms):
            part = value
            if kind.count > 1:
                part = s.op(f"extractvalue {kind.vector_result} {value}, {k}")
            s.do(f"store <32 x {e}> {part}, ptr {room}")
            whole = "poison"
            for m, number in enumerate(numbers):
                at = s.op(f"getelementptr {e}, ptr {room}, i32 {number}")
                whole = s.op(
                    f"insertelement {s.wide(e)} {whole}, {e} {s.op(f'load {e}, ptr {at}')}, i64 {m}"
                )
            results.append(whole)
        return results
