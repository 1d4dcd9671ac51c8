"""Whether the lanes of each half warp are consecutive or alike, and what follows from that."""

from __future__ import annotations

from placewise.executor.codegen.accesses.access import Kind, Range
from placewise.executor.codegen.text import Text, lanes
from placewise.executor.codegen.tracing import records


class Halves:
    """The test whether both half warps have consecutive or equal addresses, and the code for either
    outcome."""

    def __init__(self, t: Text, kind: Kind) -> None:
        self.t = t
        self.kind = kind
        a = kind.address
        self.high = t.op("lshr i32 %mask, 16")
        self.low = t.op("and i32 %mask, 65535")
        self.high_empty = t.op(f"icmp eq i32 {self.high}, 0")
        first = t.op("trunc i32 %mask to i1")
        upper_first = t.op(f"trunc i32 {self.high} to i1")
        upper = t.op(f"or i1 {upper_first}, {self.high_empty}")
        t.do(f"br i1 {t.op(f'and i1 {first}, {upper}')}, label %halves, label %general")
        t.start("halves")
        self.a0 = t.op(f"extractelement <32 x {a}> %address, i64 0")
        a16 = t.op(f"extractelement <32 x {a}> %address, i64 16")
        self.a16 = t.op(f"select i1 {self.high_empty}, {a} {self.a0}, {a} {a16}")
        pair = t.op(f"insertelement <32 x {a}> poison, {a} {self.a0}, i64 0")
        pair = t.op(f"insertelement <32 x {a}> {pair}, {a} {self.a16}, i64 1")
        indices = "<32 x i32> " + lanes([0] * 16 + [1] * 16)
        self.bases = t.op(f"shufflevector <32 x {a}> {pair}, <32 x {a}> poison, {indices}")
        steps = lanes([kind.lane_bytes * n for n in list(range(16)) * 2], a)
        expected = t.op(f"add <32 x {a}> {self.bases}, {steps}")
        self.inactive = t.op("xor i32 %mask, -1")
        self._fork(expected, "consecutive", "maybe.same")
        t.start("maybe.same")
        self._fork(self.bases, "same", "general")

    def _fork(self, expected: str, yes: str, no: str) -> None:
        t = self.t
        equal = t.op(f"icmp eq <32 x {self.kind.address}> %address, {expected}")
        bits = t.op(f"bitcast <32 x i1> {equal} to i32")
        all_ = t.op(f"or i32 {bits}, {self.inactive}")
        t.do(f"br i1 {t.op(f'icmp eq i32 {all_}, -1')}, label %{yes}, label %{no}")

    def relative(self, found: Range) -> tuple[str, str]:
        """Offsets of lanes 0 and 16 in the range, as i64."""
        t = self.t
        if self.kind.address == "i32":
            return t.op(f"zext i32 {self.a0} to i64"), t.op(f"zext i32 {self.a16} to i64")
        return (
            t.op(f"sub i64 {self.a0}, {found.start}"),
            t.op(f"sub i64 {self.a16}, {found.start}"),
        )

    def check(self, found: Range, at: tuple[str, str], step: int, good: str) -> None:
        """Branch to ``good`` if both halves are inside and aligned, else to the general case."""
        t = self.t
        size = self.kind.lane_bytes
        tests = []
        for offset, half in zip(at, (self.low, self.high), strict=True):
            span: str
            if step:
                leading = t.call("i32", "llvm.ctlz.i32", ("i32", half), ("i1", "false"))
                last = t.op(f"zext i32 {t.op(f'sub i32 31, {leading}')} to i64")
                if half == self.high:
                    last = t.op(f"select i1 {self.high_empty}, i64 0, i64 {last}")
                reach = t.op(f"mul i64 {last}, {step}")
                span = t.op(f"add i64 {reach}, {size}")
            else:
                span = str(size)
            # Both are far below 2**63, so this sum cannot wrap round.
            end = t.op(f"add i64 {offset}, {span}")
            tests.append(t.op(f"icmp ule i64 {end}, {found.size}"))
        either = t.op(f"or i64 {at[0]}, {at[1]}")
        low = t.op(f"and i64 {either}, {size - 1}")
        inside = t.op(f"and i1 {tests[0]}, {tests[1]}")
        fine = t.op(f"and i1 {inside}, {t.op(f'icmp eq i64 {low}, 0')}")
        t.do(f"br i1 {fine}, label %{good}, label %general, !prof !1")


def trace_halves(t: Text, h: Halves, found: Range, at: tuple[str, str], step: int) -> None:
    """A record of both halves; an upper half without active lanes continues the lower one."""

    low, high = (t.op(f"add i64 {x}, {found.place}") for x in at)
    follows = t.op(f"add i64 {low}, {16 * step}")
    upper = t.op(f"select i1 {h.high_empty}, i64 {follows}, i64 {high}")
    records.append(t, (low, upper), step)
