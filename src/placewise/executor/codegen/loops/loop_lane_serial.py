"""Loops that only some lanes of a warp still run: one lane after another, in scalar code.

Where a loop does little but load from unrelated addresses, vectors gain nothing: processors that
gather slowly load element after element anyway, and moving numbers into and out of vectors costs
more than computing with them. Once at most :data:`LANES` lanes are left in such a loop, each of
them runs :data:`TURNS` iterations in scalar registers before the next one does. The registers of
each lane lie in memory before and after these iterations, in two buffers that swap their roles.

The iterations count, and their trace records are written, only when all lanes have run them. If a
load cannot be served so (lanes in different arrays, an address out of bounds), the iterations are
discarded, and the vector code of the warp runs them instead.
"""

from __future__ import annotations

from placewise.executor.codegen.accesses.lane_serial_loads import LaneLoads
from placewise.executor.codegen.control import control_flow
from placewise.executor.codegen.loops.loop_8_lanes import exit_of
from placewise.executor.codegen.state import State
from placewise.executor.codegen.text import LLVM
from placewise.executor.codegen.values import nodes
from placewise.executor.ir.nodes import BITS, ELEMENTWISE, Block, Branch, Node, Reg

LANES = 16
"""Most active lanes for which a loop is run lane by lane."""

TURNS = 8
"""Iterations that a lane runs before the next lane does."""

_COMPUTED = 6
"""Most computations for each load for which this is faster than vectors of eight lanes."""


def suits(s: State, wanted: list[Node]) -> bool:
    """Whether a loop that is eligible for a version for few lanes (:func:`loop_8_lanes.eligible`)
    is run lane by lane."""
    loads = [n for n in wanted if n.op == "load"]
    computed = sum(1 for n in wanted if n.op in ELEMENTWISE and not n.uniform)
    return (
        s.options.processor.slow_gather
        and not any(n.uniform for n in loads)
        and computed <= _COMPUTED * len(loads)
    )


def emit(s: State, block: Block, wanted: list[Node]) -> None:
    """Emit the version for few lanes and the branch to it. The code that follows runs where more
    lanes are active, and where this version has been given up once."""
    warp_mask = s.mask
    off = f"%n{block.number}.off"
    s.reserved += [f"{off} = alloca i32", f"store i32 0, ptr {off}"]
    active = s.call("i32", "llvm.ctpop.i32", ("i32", warp_mask))
    given_up = s.op(f"load i32, ptr {off}")
    few, many = s.label(), s.label()
    suited = s.op(f"icmp ule i32 {s.op(f'or i32 {active}, {given_up}')}, {LANES}")
    s.do(f"br i1 {suited}, label %{few}, label %{many}")
    s.start(few)
    _Loop(s, block, wanted, warp_mask, many).emit()
    s.begin_block()
    s.start(many)
    s.mask = s.op("load i32, ptr %cur")


class _Loop:
    """One loop's version under construction."""

    def __init__(
        self, s: State, block: Block, wanted: list[Node], warp_mask: str, many: str
    ) -> None:
        self.s = s
        self.block = block
        self.wanted = wanted
        self.warp_mask = warp_mask
        self.many = many
        self.name = f"%n{block.number}"
        self.head, self.end, self.give_up = s.label(), s.label(), s.label()
        self.loads = LaneLoads(s, self.name, wanted, LANES, self.head, self.give_up)
        got = {n.reg for n in wanted if n.op == "get"}
        self.values = {n.reg: n.args[0] for n in wanted if n.op == "set"}
        """What registers are set to."""
        # Registers that all lanes share, such as loop counters, are updated in each lane's own
        # copy.
        own = [r for r in got if s.varies(r) or r in self.values]
        self.regs = sorted(own, key=lambda r: r.number)
        """Registers that a lane reads before its turns and stores after them."""
        self.kept: list[Reg] = []
        """Registers that lanes have changed and somebody may read after the loop."""
        if not s.flow.exits >> exit_of(block) & 1:
            live = s.flow.live_in[exit_of(block)]
            self.kept = [r for r in self.values if s.varies(r) and live >> r.number & 1]
        self.rooms = sorted(
            {*(r for r in self.regs if s.varies(r)), *self.kept}, key=lambda r: r.number
        )
        self.places: dict[Reg, int] = {}
        """Places of the registers among what is kept of a lane; its number is at 0."""
        end = 8
        for reg in self.regs:
            size = max(BITS[reg.type] // 8, 4)
            end = -(-end // size) * size
            self.places[reg] = end
            end += size
        self.stride = -(-end // 16) * 16

    def _room(self, reg: Reg) -> str:
        return f"{self.name}.w{reg.number}"

    def _own_room(self, reg: Reg, number: str) -> str:
        return self.s.op(f"getelementptr {LLVM[reg.type]}, ptr {self._room(reg)}, i32 {number}")

    def _copy(self, type_: str, of: str, to: str) -> None:
        self.s.do(f"store {type_} {self.s.op(f'load {type_}, ptr {of}')}, ptr {to}")

    def emit(self) -> None:
        """Emit the whole version; ends at the start of the block after the loop."""
        s = self.s
        self._enter()
        s.start(self.head)
        s.width = 1
        self._turns()
        s.width = 32
        self._give_up()
        s.start(self.end)
        self._from_rooms(self.kept)
        s.mask = self.warp_mask
        control_flow.proceed(s, exit_of(self.block), self.warp_mask, self.block.number)

    def _enter(self) -> None:
        """Put the active lanes' registers one after another."""
        s, name = self.s, self.name
        s.reserved += [
            f"{name}.mask = alloca i32",
            f"{name}.side = alloca i64",
            f"{name}.masks = alloca [{TURNS + 1} x i32], align 64",
            f"{name}.state = alloca [{2 * LANES * self.stride} x i8], align 64",
        ]
        for reg in self.rooms:
            s.reserved.append(f"{self._room(reg)} = alloca [32 x {LLVM[reg.type]}], align 64")
            self._copy(s.reg_type(reg), f"%r{reg.number}", self._room(reg))
        self.loads.enter(TURNS)
        s.do(f"store i32 {self.warp_mask}, ptr {name}.mask")
        s.do(f"store i64 0, ptr {name}.side")
        number, at = self._each(self.warp_mask, f"{name}.state", new=True)
        s.do(f"store i32 {number}, ptr {at}")
        for reg in self.regs:
            own = self._own_room(reg, number) if s.varies(reg) else f"%r{reg.number}"
            self._copy(LLVM[reg.type], own, s.beyond(at, self.places[reg]))
        self._end_each(self.head)

    def _each(self, mask: str, start: str, *, new: bool) -> tuple[str, str]:
        """Emit the head of a loop over the lanes of a mask; returns the lane's number, and the
        pointer to what is kept of the lane. The number is read from there unless the lanes are
        ``new``."""
        s = self.s
        begin, self.body = s.label(), s.label()
        s.do(f"br label %{begin}")
        s.start(begin)
        s.do(f"br label %{self.body}")
        s.start(self.body)
        left, self.rest, at, self.after = s.name(), s.name(), s.name(), s.name()
        s.do(f"{left} = phi i32 [ {mask}, %{begin} ], [ {self.rest}, %{self.body} ]")
        s.do(f"{at} = phi ptr [ {start}, %{begin} ], [ {self.after}, %{self.body} ]")
        s.do(f"{self.rest} = and i32 {left}, {s.op(f'sub i32 {left}, 1')}")
        s.do(f"{self.after} = getelementptr i8, ptr {at}, i64 {self.stride}")
        if new:
            return s.call("i32", "llvm.cttz.i32", ("i32", left), ("i1", "true")), at
        return s.op(f"load i32, ptr {at}"), at

    def _end_each(self, then: str) -> None:
        s = self.s
        s.do(f"br i1 {s.op(f'icmp eq i32 {self.rest}, 0')}, label %{then}, label %{self.body}")

    def _from_rooms(self, regs: list[Reg]) -> None:
        for reg in regs:
            self._copy(self.s.reg_type(reg), self._room(reg), f"%r{reg.number}")

    # --- some turns

    def _turns(self) -> None:
        """Emit some iterations ("turns") of all lanes, one lane after another, then their counting
        and recording."""
        s, name = self.s, self.name
        s.begin_block()
        self.mask = s.op(f"load i32, ptr {name}.mask")
        count = s.op(f"zext i32 {s.call('i32', 'llvm.ctpop.i32', ('i32', self.mask))} to i64")
        side = s.op(f"load i64, ptr {name}.side")
        other = s.op(f"sub i64 {LANES * self.stride}, {side}")
        self.start = s.op(f"getelementptr i8, ptr {name}.state, i64 {side}")
        to = s.op(f"getelementptr i8, ptr {name}.state, i64 {other}")
        size = s.op(f"mul i64 {count}, {self.stride}")
        stop = s.op(f"getelementptr i8, ptr {self.start}, i64 {size}")
        s.do(f"store [{TURNS + 1} x i32] zeroinitializer, ptr {name}.masks")
        for n in self.wanted:
            if n.uniform and n.op != "set" and not self._counts(n):
                nodes.emit(s, n, 0)
        self.loads.begin()
        begin, body, done = s.label(), s.label(), s.label()
        s.do(f"br label %{begin}")
        s.start(begin)
        s.do(f"br label %{body}")
        s.start(body)
        at, at_next, self.to, to_next, left, left_next = (s.name() for _ in range(6))
        last = s.label()
        s.do(f"{at} = phi ptr [ {self.start}, %{begin} ], [ {at_next}, %{last} ]")
        s.do(f"{self.to} = phi ptr [ {to}, %{begin} ], [ {to_next}, %{last} ]")
        s.do(f"{left} = phi i32 [ 0, %{begin} ], [ {left_next}, %{last} ]")
        stays, bit = self._lane(at)
        s.do(f"br label %{last}")
        s.start(last)
        s.do(f"{left_next} = or i32 {left}, {s.op(f'select i1 {stays}, i32 {bit}, i32 0')}")
        step = s.op(f"select i1 {stays}, i64 {self.stride}, i64 0")
        s.do(f"{to_next} = getelementptr i8, ptr {self.to}, i64 {step}")
        s.do(f"{at_next} = getelementptr i8, ptr {at}, i64 {self.stride}")
        s.do(f"br i1 {s.op(f'icmp eq ptr {at_next}, {stop}')}, label %{done}, label %{body}")
        s.start(done)
        last_mask = s.op(f"getelementptr i32, ptr {name}.masks, i64 {TURNS}")
        s.do(f"store i32 {left_next}, ptr {last_mask}")
        self._finish()
        s.do(f"store i32 {left_next}, ptr {name}.mask")
        s.do(f"store i64 {other}, ptr {name}.side")
        self.loads.found()
        none = s.op(f"icmp eq i32 {left_next}, 0")
        s.do(f"br i1 {none}, label %{self.end}, label %{self.head}")

    def _counts(self, n: Node) -> bool:
        """Whether a value that all lanes share changes from turn to turn."""
        if n.op == "get":
            return n.attr in self.values
        return any(self._counts(a) for a in n.args)

    # One branch for each kind of node that can stand in such a loop.
    def _lane(self, at: str) -> tuple[str, str]:
        """The turns of one lane; returns whether it has more (i1), and its bit of the masks."""
        s = self.s
        number = s.op(f"load i32, ptr {at}")
        bit = s.op(f"shl i32 1, {number}")
        is_first = s.op(f"icmp eq ptr {at}, {self.start}")
        before = [
            s.op(f"load {LLVM[r.type]}, ptr {s.beyond(at, self.places[r])}") for r in self.regs
        ]
        begin, body, last, out = (s.label() for _ in range(4))
        s.do(f"br label %{begin}")
        s.start(begin)
        s.do(f"br label %{body}")
        s.start(body)
        turn, turn_next, rows, rows_next = (s.name() for _ in range(4))
        now = {r: s.name() for r in self.regs}
        s.do(f"{turn} = phi i64 [ 0, %{begin} ], [ {turn_next}, %{last} ]")
        if self.loads.recorded:
            s.do(f"{rows} = phi ptr [ {self.name}.rows, %{begin} ], [ {rows_next}, %{last} ]")
        first_line = len(s.lines)
        own_rows = self._join(turn, bit, rows)
        for n in self.wanted:
            if n.op == "set" or (n.uniform and not self._counts(n)):
                continue
            if n.op == "get":
                s.set(n, now[n.reg])
            elif n.op == "load":
                self.loads.load(n, own_rows, is_first)
            else:
                nodes.emit(s, n, 0)
        t = self.block.terminator
        assert isinstance(t, Branch)
        stays = s.scalar(t.condition)
        if t.taken != self.block.number:
            stays = s.op(f"xor i1 {stays}, true")
        s.do(f"br label %{last}")
        s.start(last)
        after = {r: s.scalar(self.values[r]) if r in self.values else now[r] for r in self.regs}
        s.lines[first_line:first_line] = [
            f"{now[r]} = phi {LLVM[r.type]} [ {value}, %{begin} ], [ {after[r]}, %{last} ]"
            for r, value in zip(self.regs, before, strict=True)
        ]
        s.do(f"{turn_next} = add i64 {turn}, 1")
        if self.loads.recorded:
            s.do(f"{rows_next} = getelementptr i8, ptr {rows}, i64 {self.loads.turn_bytes}")
        more = s.op(f"icmp ne i64 {turn_next}, {TURNS}")
        s.do(f"br i1 {s.op(f'and i1 {stays}, {more}')}, label %{body}, label %{out}")
        s.start(out)
        # If the lane leaves, the next one's registers take the place of these.
        s.do(f"store i32 {number}, ptr {self.to}")
        for reg in self.regs:
            to = s.beyond(self.to, self.places[reg])
            s.do(f"store {LLVM[reg.type]} {after[reg]}, ptr {to}")
        for reg in self.kept:
            value = s.scalar(self.values[reg])
            s.do(f"store {LLVM[reg.type]} {value}, ptr {self._own_room(reg, number)}")
        return stays, bit

    def _join(self, turn: str, bit: str, rows: str) -> str:
        """Note that a lane makes this turn; returns where its offsets go, after those of the lanes
        before it."""
        s = self.s
        place = s.op(f"getelementptr i32, ptr {self.name}.masks, i64 {turn}")
        before = s.op(f"load i32, ptr {place}")
        s.do(f"store i32 {s.op(f'or i32 {before}, {bit}')}, ptr {place}")
        if not self.loads.recorded:
            return ""
        number = s.call("i32", "llvm.ctpop.i32", ("i32", before))
        kept = "i64" if s.options.large else "i32"
        return s.op(f"getelementptr {kept}, ptr {rows}, i32 {number}")

    def _finish(self) -> None:
        """Emit the counting and recording of the turns, after all lanes have made them."""
        s, block = self.s, self.block
        begin, body, last, done = (s.label() for _ in range(4))
        s.do(f"br label %{begin}")
        s.start(begin)
        s.do(f"br label %{body}")
        s.start(body)
        turn, turn_next, mask, rows, rows_next = (s.name() for _ in range(5))
        s.do(f"{turn} = phi i64 [ 0, %{begin} ], [ {turn_next}, %{last} ]")
        if self.loads.recorded:
            s.do(f"{rows} = phi ptr [ {self.name}.rows, %{begin} ], [ {rows_next}, %{last} ]")
        place = s.op(f"getelementptr i32, ptr {self.name}.masks, i64 {turn}")
        s.do(f"{mask} = load i32, ptr {place}")
        count = s.op(f"zext i32 {s.call('i32', 'llvm.ctpop.i32', ('i32', mask))} to i64")
        s.count(2 * block.number, "1")
        s.count(2 * block.number + 1, count)
        control_flow.use_fuel(s, block)
        if self.loads.recorded:
            self.loads.record(mask, count, rows)
        s.do(f"{turn_next} = add i64 {turn}, 1")
        place = s.op(f"getelementptr i32, ptr {self.name}.masks, i64 {turn_next}")
        left = s.op(f"load i32, ptr {place}")
        if s.flow.exits >> exit_of(block) & 1:
            control_flow.count_exit(s, exit_of(block), s.op(f"xor i32 {mask}, {left}"))
        s.do(f"br label %{last}")
        s.start(last)
        if self.loads.recorded:
            s.do(f"{rows_next} = getelementptr i8, ptr {rows}, i64 {self.loads.turn_bytes}")
        some = s.op(f"icmp ne i32 {left}, 0")
        more = s.op(f"icmp ne i64 {turn_next}, {TURNS}")
        s.do(f"br i1 {s.op(f'and i1 {some}, {more}')}, label %{body}, label %{done}")
        s.start(done)

    def _give_up(self) -> None:
        """Continue with the warp's vector code. Nothing that these iterations did is visible."""
        s = self.s
        s.start(self.give_up)
        s.do(f"store i32 {LANES + 1}, ptr {self.name}.off")
        number, at = self._each(self.mask, self.start, new=False)
        for reg in self.regs:
            own = self._own_room(reg, number) if s.varies(reg) else f"%r{reg.number}"
            self._copy(LLVM[reg.type], s.beyond(at, self.places[reg]), own)
        done = s.label()
        self._end_each(done)
        s.start(done)
        self._from_rooms(self.rooms)
        s.do(f"store i32 {self.mask}, ptr %cur")
        target = exit_of(self.block)
        if s.waits >> target & 1:
            gone = s.op(f"xor i32 {self.mask}, {self.warp_mask}")
            old = s.op(f"load i32, ptr %p{target}")
            s.do(f"store i32 {s.op(f'or i32 {old}, {gone}')}, ptr %p{target}")
        s.do(f"br label %{self.many}")
