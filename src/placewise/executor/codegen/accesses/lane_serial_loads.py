"""Loads of one lane after another, in loops that are run lane by lane (``singly``).

Loads whose addresses differ by constants are checked against the bounds together. The array that
they should lie in is looked up once for all lanes and some iterations ("turns") of the loop; if a
load lies elsewhere, the loop falls back to the general code. The offsets of traced loads are
stored, turn by turn; trace records are made from them once all lanes have run.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.codegen.accesses.access import (
    Kind,
    find_range,
    kind_of,
    load_elements,
    touch,
)
from placewise.executor.codegen.accesses.calls import keep
from placewise.executor.codegen.loops import loop_patterns
from placewise.executor.codegen.loops.loop_patterns import Parts
from placewise.executor.codegen.state import State
from placewise.executor.codegen.tracing import records
from placewise.executor.ir.nodes import BITS, Node

_CACHE = 32
"""Bytes kept of an array: its start, the number of elements at which a load may begin, its host
pointer and its device address."""

_FAR = 1 << 20
"""Loads whose addresses differ by at least so many bytes are not checked together."""

_COPIES = {4: (4,), 8: (8,), 16: (8, 8)}
"""By number of lanes: widths of the vectors that copy their offsets."""

_AHEAD = 64
"""Bytes from a load to what is prefetched: the next cache line, which a lane that walks through an
array needs next. All lanes together walk in more places than a processor's own prefetcher
follows."""


@dataclass(frozen=True)
class _Array:
    """The array that loads should lie in, as LLVM values."""

    start: str
    units: str
    """Number of elements, from the start on, at which such a load may begin."""
    host: str
    place: str


@dataclass(frozen=True)
class _Group:
    """Loads whose bounds are checked together."""

    number: int
    first: Node
    kind: Kind
    parts: Parts
    """Parts of the first load's address."""
    low: int
    """Lowest constant part of their addresses."""
    spread: int
    """Bytes from the lowest constant part to the highest."""

    @property
    def sharing(self) -> tuple[object, ...]:
        """Key of the groups that are looked up together because they are likely to lie in one
        array: those with the same lane-independent part of the address, which mostly is its
        start."""
        kind = (self.kind, self.spread)
        return (self.parts.terms, *kind) if self.parts.terms else (self.number,)


class LaneLoads:
    """The loads of one loop.
    The code branches to ``give_up`` where a load lies in no array, or in another one for each lane,
    and to ``again`` where it has looked up an array and the turns have to be repeated.
    """

    def __init__(
        self, s: State, name: str, wanted: list[Node], lanes: int, again: str, give_up: str
    ) -> None:
        self.s = s
        self.name = name
        self.again, self.give_up = again, give_up
        self.groups: dict[Node, _Group] = {}
        self._group_all([n for n in wanted if n.op == "load"])
        self._caches = {
            sharing: _CACHE * k
            for k, sharing in enumerate(dict.fromkeys(g.sharing for g in self.groups.values()))
        }
        self._arrays: dict[tuple[object, ...], _Array] = {}
        self._starts: dict[tuple[object, ...], str] = {}
        """The arrays' device addresses, for records."""
        self._from_start: dict[int, str] = {}
        """By group, the shared part of the addresses less the array's start, where that stays the
        same from turn to turn."""
        self._relative: dict[int, str] = {}
        """By group, offset of the lowest load in the array."""
        self.recorded = [n for n, g in self.groups.items() if g.kind.traced]
        self._offset = "i64" if s.options.large else "i32"
        self._lanes = lanes
        self._row_bytes = lanes * BITS[self._offset] // 8
        groups = dict.fromkeys(self.groups[n].number for n in self.recorded)
        self._rows = {number: self._row_bytes * k for k, number in enumerate(groups)}
        """Where the lanes write their offsets, by group, from the start of those of a turn."""
        self.turn_bytes = self._row_bytes * len(self._rows)

    def _group_all(self, loads: list[Node]) -> None:
        kinds: dict[Node, Kind] = {}
        for n in loads:
            kinds[n] = kind_of(n.access, traced=n.access.space in self.s.options.traced)
        reach = loop_patterns.displacements(kinds)
        known: dict[tuple[object, ...], _Group] = {}
        for n, kind in kinds.items():
            parts = loop_patterns.parts_of(n.args[0], n.access)
            key: tuple[object, ...] = (loop_patterns.group_of(parts, kind), kind.traced)
            low, high, _ = reach[loop_patterns.group_of(parts, kind)]
            if high - low >= _FAR:
                key, low, high = (n.number,), parts.constant, parts.constant
            if key not in known:
                known[key] = _Group(len(known), n, kind, parts, low, high - low)
            self.groups[n] = known[key]

    def enter(self, turns: int) -> None:
        """Emit what runs before the loop: room for its arrays, of which nothing is known yet."""
        s, name = self.s, self.name
        s.reserved.append(f"{name}.misses = alloca i32")
        s.reserved.append(f"{name}.arrays = alloca [{_CACHE * len(self._caches)} x i8], align 64")
        if self.recorded:
            s.reserved.append(f"{name}.rows = alloca [{turns * self.turn_bytes} x i8], align 64")
        for cache in self._caches.values():
            s.do(f"store <2 x i64> zeroinitializer, ptr {s.beyond(f'{name}.arrays', cache)}")
        self.found()

    def found(self) -> None:
        """Emit the end of turns in which all loads lay in the arrays that were tried."""
        self.s.do(f"store i32 0, ptr {self.name}.misses")

    def begin(self) -> None:
        """Emit loads of the arrays to try, which stay the same until the next :attr:`again`."""
        for group in self.groups.values():
            if group.sharing not in self._arrays:
                self._arrays[group.sharing] = array = self._array(group)
                if group.kind.traced:
                    self._starts[group.sharing] = records.twice(self.s, array.place)
            if all(n.op == "const" or n.number in self.s.scalars for _, n in group.parts.terms):
                self._from_start[group.number] = self._shared_part(group)

    def _array(self, group: _Group) -> _Array:
        s = self.s
        if group.kind.memory == "shared":
            found = find_range(s, group.kind, "")
            size = s.op(f"trunc i64 {found.size} to i32")
            units = self._units(group.kind, size, group.spread)
            return _Array("0", units, found.host, found.place)
        cache = self._caches[group.sharing]
        start, units, host = (
            s.op(f"load {type_}, ptr {s.beyond(f'{self.name}.arrays', cache + offset)}")
            for offset, type_ in ((0, "i64"), (8, "i64"), (16, "ptr"))
        )
        return _Array(start, units, host, start)

    def _shared_part(self, group: _Group) -> str:
        s, parts, a = self.s, group.parts, group.kind.address
        common = loop_patterns.moved(s, a, "0", Parts(parts.root, parts.terms, group.low))
        return s.op(f"sub {a} {common}, {self._arrays[group.sharing].start}")

    # --- for each lane

    def load(self, n: Node, rows: str, is_first: str) -> None:
        """Emit one load. ``rows`` points to the lane's offsets of this turn; ``is_first`` (i1) says
        whether other lanes have yet to come."""
        s, access, group = self.s, n.access, self.groups[n]
        kind, array = group.kind, self._arrays[group.sharing]
        if group.first is n:
            self._relative[group.number] = self._check(group, array, is_first)
            self._note(group, rows)
        offset = self._relative[group.number]
        if kind.address == "i32":
            offset = s.op(f"zext i32 {offset} to i64")
        further = loop_patterns.parts_of(n.args[0], access).constant - group.low
        pointer = s.beyond(s.op(f"getelementptr i8, ptr {array.host}, i64 {offset}"), further)
        if group.first is n and group.parts.root.op == "get" and kind.memory != "shared":
            self._fetch(pointer)
        values = load_elements(s, kind, pointer)
        whole, result = values[0], kind.scalar_result
        if kind.count > 1:
            whole = "poison"
            for k, value in enumerate(values):
                whole = s.op(f"insertvalue {result} {whole}, {kind.element} {value}, {k}")
        keep(s, n, access, result, whole)

    def _fetch(self, pointer: str) -> None:
        """Prefetch what comes after an element whose address is carried from turn to turn."""
        s = self.s
        s.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        at = s.beyond(pointer, _AHEAD)
        s.do(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)")

    def _note(self, group: _Group, rows: str) -> None:
        """Store the lane's offset for the trace record."""
        if group.number not in self._rows:
            return
        s, have = self.s, group.kind.address
        offset = self._relative[group.number]
        if self._offset != have:
            step = "trunc" if have == "i64" else "zext"
            offset = s.op(f"{step} {have} {offset} to {self._offset}")
        s.do(f"store {self._offset} {offset}, ptr {s.beyond(rows, self._rows[group.number])}")

    def _check(self, group: _Group, array: _Array, is_first: str) -> str:
        """The offset of the lane's lowest load of a group, after a check that all of the group are
        in bounds."""
        s, kind, parts = self.s, group.kind, group.parts
        a = kind.address
        from_start = self._from_start.get(group.number) or self._shared_part(group)
        relative = s.op(f"add {a} {s.scalar(parts.root)}, {from_start}")
        good, look = s.label(), self.give_up if kind.memory == "shared" else s.label()
        inside = self._inside(kind, relative, array.units)
        s.do(f"br i1 {inside}, label %{good}, label %{look}, !prof !1")
        if kind.memory != "shared":
            s.start(look)
            self._look_up(group, s.op(f"add i64 {relative}, {array.start}"), is_first)
        s.start(good)
        return relative

    def _look_up(self, group: _Group, lowest: str, is_first: str) -> None:
        """Emit the look-up of the array of the first lane's load, and the branch to ``again``."""
        s, name, kind = self.s, self.name, group.kind
        first, known = s.label(), s.label()
        misses = s.op(f"load i32, ptr {name}.misses")
        s.do(f"store i32 {s.op(f'add i32 {misses}, 1')}, ptr {name}.misses")
        few = s.op(f"icmp ult i32 {misses}, {len(self._caches)}")
        s.do(f"br i1 {s.op(f'and i1 {few}, {is_first}')}, label %{first}, label %{self.give_up}")
        s.start(first)
        there = find_range(s, kind, s.op(f"add i64 {lowest}, {group.parts.constant - group.low}"))
        units = self._units(kind, there.size, group.spread)
        inside = self._inside(kind, s.op(f"sub i64 {lowest}, {there.start}"), units)
        s.do(f"br i1 {inside}, label %{known}, label %{self.give_up}, !prof !1")
        s.start(known)
        touch(s, there, "load")
        cache = self._caches[group.sharing]
        for offset, word in (
            (0, f"i64 {there.start}"),
            (8, f"i64 {units}"),
            (16, f"ptr {there.host}"),
        ):
            s.do(f"store {word}, ptr {s.beyond(f'{name}.arrays', cache + offset)}")
        s.do(f"br label %{self.again}")

    def _units(self, kind: Kind, size: str, spread: int) -> str:
        """Number of elements at which a group may begin whose highest load is ``spread`` bytes
        up."""
        s, a = self.s, kind.address
        room = s.call(a, f"llvm.usub.sat.{a}", (a, size), (a, str(spread))) if spread else size
        shift = kind.lane_bytes.bit_length() - 1
        return s.op(f"lshr {a} {room}, {shift}") if shift else room

    def _inside(self, kind: Kind, relative: str, units: str) -> str:
        """Whether an offset is aligned and leaves room for an element, see ``all_inside``."""
        s, a = self.s, kind.address
        shift = kind.lane_bytes.bit_length() - 1
        if shift:
            relative = s.call(a, f"llvm.fshr.{a}", (a, relative), (a, relative), (a, str(shift)))
        return s.op(f"icmp ult {a} {relative}, {units}")

    # --- for each turn, when all lanes are through

    def record(self, mask: str, count: str, rows: str) -> None:
        """The records of a turn that the lanes in ``mask``, so many (i64), have made."""
        s = self.s
        records.begin_rows(s)
        done = s.label()
        for most, widths in _COPIES.items():
            here, on = s.label(), s.label()
            if most < self._lanes:
                s.do(f"br i1 {s.op(f'icmp ule i64 {count}, {most}')}, label %{here}, label %{on}")
                s.start(here)
            written = records.Rows(s, mask, count, large=s.options.large)
            for n in self.recorded:
                access, group = n.access, self.groups[n]
                further = loop_patterns.parts_of(n.args[0], access).constant - group.low
                offsets = s.beyond(rows, self._rows[group.number])
                start = self._starts[group.sharing]
                written.write(access.site, group.number, start, offsets, further, widths)
            written.finish()
            s.do(f"br label %{done}")
            if most < self._lanes:
                s.start(on)
        s.start(done)
