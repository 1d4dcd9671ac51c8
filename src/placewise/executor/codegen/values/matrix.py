"""One LLVM function per kind of matrix product, called by every instruction of that kind.

Each lane computes the elements of D that it holds. The elements of A and B it needs for one k are
in registers of other lanes, at places known beforehand, so they come by constant permutations.
"""

from __future__ import annotations

from placewise.executor.codegen.state import State
from placewise.executor.codegen.text import Text, lanes
from placewise.executor.ir.matrix_lanes import (
    ELEMENT_BITS,
    Mma,
    elements_per_register,
    register_bits,
)
from placewise.executor.ir.nodes import Node

_INTS = frozenset({"s8", "u8", "s4", "u4", "b1"})


def name_of(mma: Mma) -> str:
    extra = f".{mma.operation}" if mma.operation else ""
    extra += ".sat" if mma.saturate else ""
    return f"@mma.m{mma.m}n{mma.n}k{mma.k}.{mma.d}.{mma.a}.{mma.b}.{mma.c}{extra}"


def result_type(mma: Mma) -> str:
    one = f"<32 x i{register_bits(mma.d)}>"
    return "{ " + ", ".join([one] * mma.accumulators(mma.d)) + " }"


def emit(s: State, n: Node) -> None:
    """Call the function of an ``mma`` node."""
    mma = n.attr
    assert isinstance(mma, Mma)
    s.needs.products.add(mma)
    result = result_type(mma)
    arguments = ", ".join(f"<32 x {a.type}> {s.vector(a)}" for a in n.args)
    s.structs[n.number] = (result, s.op(f"call fastcc {result} {name_of(mma)}({arguments})"))


def permute(s: State, n: Node) -> None:
    """A ``permute`` node: lane l takes the value of lane ``attr[l]``."""
    if n.uniform:
        s.set(n, s.scalar(n.args[0]))
        return
    assert isinstance(n.attr, tuple)
    t = f"<32 x {n.type}>"
    order = f"<32 x i32> {lanes(list(n.attr))}"
    s.set(n, s.op(f"shufflevector {t} {s.vector(n.args[0])}, {t} poison, {order}"))


def function(mma: Mma, declarations: set[str]) -> str:
    """The text of one product's function: registers of A, B and C to those of D."""
    product = _Product(Text(declarations), mma)
    product.run()
    groups = (
        ("a", mma.a_registers, mma.a),
        ("b", mma.b_registers, mma.b),
        ("c", mma.accumulators(mma.c), mma.c),
    )
    parameters = ", ".join(
        f"<32 x i{register_bits(type_)}> %{letter}{k}"
        for letter, count, type_ in groups
        for k in range(count)
    )
    head = f"define internal fastcc {result_type(mma)} {name_of(mma)}({parameters}) noinline #0 {{"
    return "\n".join([head, *product.t.lines, "}"])


class _Product:
    """Elements unpacked and permuted once, then all sums of a lane."""

    def __init__(self, t: Text, mma: Mma) -> None:
        self.t = t
        self.mma = mma
        self.whole = mma.a == "b1"
        """One-bit elements are worked on a register at a time."""
        self.per = 1 if self.whole else elements_per_register(mma.a)
        integral = mma.a in _INTS
        self.number = "i32" if integral else "double" if mma.a == "f64" else "float"
        self.vector = f"<32 x {self.number}>"
        self._known: dict[tuple[str, int, int, int], str] = {}

    def run(self) -> None:
        mma, t = self.mma, self.t
        starts = self._accumulators()
        results = [""] * len(starts)
        for row in range(mma.m // 8):
            for column in range(mma.n // 8):
                for e in (0, 1):
                    at = mma.c_index(row, column) + e
                    results[at] = self._sum(row, column, e, starts[at])
        out = result_type(mma)
        whole = "poison"
        for k, value in enumerate(self._packed(results)):
            one = f"<32 x i{register_bits(mma.d)}>"
            whole = t.op(f"insertvalue {out} {whole}, {one} {value}, {k}")
        t.do(f"ret {out} {whole}")

    def _sum(self, row: int, column: int, e: int, start: str) -> str:
        """One element of D per lane, in ascending k."""
        mma, t = self.mma, self.t
        saturating = mma.saturate
        total = "zeroinitializer" if saturating else start
        for part in range(mma.k_parts):
            a, b = mma.a_index(row, part), mma.b_index(column, part)
            for quarter in range(4):
                # Lane (g, t) needs row g of A, held in its own quad, and column 2t + e of B.
                rows = tuple((lane & ~3) | quarter for lane in range(32))
                columns = tuple(((2 * (lane & 3) + e) * 4) + quarter for lane in range(32))
                for j in range(self.per):
                    x = self._moved("a", a, j, quarter, rows)
                    y = self._moved("b", b, j, 2 * quarter + e, columns)
                    total = self._step(x, y, total)
        if saturating:
            v = self.vector
            total = t.call(v, "llvm.sadd.sat.v32i32", (v, start), (v, total))
        return total

    def _step(self, x: str, y: str, total: str) -> str:
        t, v = self.t, self.vector
        if self.whole:
            both = t.op(f"{self.mma.operation} {v} {x}, {y}")
            return t.op(f"add {v} {total}, {t.call(v, 'llvm.ctpop.v32i32', (v, both))}")
        if self.number == "i32":
            return t.op(f"add {v} {total}, {t.op(f'mul {v} {x}, {y}')}")
        kind = "f64" if self.number == "double" else "f32"
        return t.call(v, f"llvm.fma.v32{kind}", (v, x), (v, y), (v, total))

    def _moved(self, side: str, register: int, j: int, way: int, order: tuple[int, ...]) -> str:
        key = (side + "~", register, j, way)
        found = self._known.get(key)
        if found is None:
            value = self._element(side, register, j)
            v = self.vector
            index = f"<32 x i32> {lanes(list(order))}"
            found = self._known[key] = self.t.op(f"shufflevector {v} {value}, {v} poison, {index}")
        return found

    def _element(self, side: str, register: int, j: int) -> str:
        key = (side, register, j, 0)
        found = self._known.get(key)
        if found is None:
            type_ = self.mma.a if side == "a" else self.mma.b
            found = self._known[key] = self._unpack(f"%{side}{register}", type_, j)
        return found

    def _unpack(self, value: str, type_: str, j: int) -> str:
        """Element ``j`` of a register as a number to compute with."""
        t, i32 = self.t, "<32 x i32>"
        if type_ == "f64":
            return t.op(f"bitcast <32 x i64> {value} to <32 x double>")
        if type_ == "b1":
            return value
        if type_ == "tf32":
            # The low 13 bits of a register are no part of the number.
            cut = t.op(f"and {i32} {value}, splat (i32 {0xFFFFE000 - (1 << 32)})")
            return t.op(f"bitcast {i32} {cut} to <32 x float>")
        if type_ == "bf16":
            high = (
                t.op(f"and {i32} {value}, splat (i32 -65536)")
                if j
                else t.op(f"shl {i32} {value}, splat (i32 16)")
            )
            return t.op(f"bitcast {i32} {high} to <32 x float>")
        bits = ELEMENT_BITS[type_]
        if type_ in ("f16", "e4m3", "e5m2"):
            low = t.op(f"lshr {i32} {value}, splat (i32 {bits * j})") if j else value
            return self._small_float(type_, low)
        up = t.op(f"shl {i32} {value}, splat (i32 {32 - bits * (j + 1)})")
        shift = "ashr" if type_[0] == "s" else "lshr"
        return t.op(f"{shift} {i32} {up}, splat (i32 {32 - bits})")

    def _small_float(self, type_: str, value: str) -> str:
        """A half or 8-bit number in the low bits, as single precision, exactly.

        An e5m2 is the upper byte of a half; an e4m3 moved up by seven bits is a half too small
        by 2**8, except for its one NaN.
        """
        t = self.t
        if type_ == "f16":
            return self._half(t.op(f"trunc <32 x i32> {value} to <32 x i16>"))
        byte = t.op(f"trunc <32 x i32> {value} to <32 x i8>")
        wide = t.op(f"zext <32 x i8> {byte} to <32 x i16>")
        if type_ == "e5m2":
            return self._half(t.op(f"shl <32 x i16> {wide}, splat (i16 8)"))
        i16 = "<32 x i16>"
        size = t.op(f"and {i16} {wide}, splat (i16 127)")
        moved = t.op(f"shl {i16} {size}, splat (i16 7)")
        sign = t.op(f"shl {i16} {t.op(f'and {i16} {wide}, splat (i16 128)')}, splat (i16 8)")
        small = self._half(t.op(f"or {i16} {moved}, {sign}"))
        f32 = "<32 x float>"
        value = t.op(f"fmul {f32} {small}, splat (float 256.0)")
        nan = t.op(f"icmp eq {i16} {size}, splat (i16 127)")
        return t.op(
            f"select <32 x i1> {nan}, {f32} splat (float 0x7FF8000000000000), {f32} {value}"
        )

    def _half(self, bits: str) -> str:
        half = self.t.op(f"bitcast <32 x i16> {bits} to <32 x half>")
        return self.t.op(f"fpext <32 x half> {half} to <32 x float>")

    def _accumulators(self) -> list[str]:
        mma, t = self.mma, self.t
        found: list[str] = []
        for k in range(mma.accumulators(mma.c)):
            register = f"%c{k}"
            if mma.c == "f16":
                found += [self._unpack(register, "f16", j) for j in (0, 1)]
            elif self.number == "i32":
                found.append(register)
            else:
                bits = register_bits(mma.c)
                found.append(t.op(f"bitcast <32 x i{bits}> {register} to {self.vector}"))
        return found

    def _packed(self, values: list[str]) -> list[str]:
        mma, t = self.mma, self.t
        if self.number == "i32":
            return values
        if mma.d != "f16":
            bits = register_bits(mma.d)
            return [t.op(f"bitcast {self.vector} {v} to <32 x i{bits}>") for v in values]
        words = []
        for v in values:
            half = t.op(f"fptrunc <32 x float> {v} to <32 x half>")
            bits16 = t.op(f"bitcast <32 x half> {half} to <32 x i16>")
            words.append(t.op(f"zext <32 x i16> {bits16} to <32 x i32>"))
        return [
            t.op(f"or <32 x i32> {low}, {t.op(f'shl <32 x i32> {high}, splat (i32 16)')}")
            for low, high in zip(words[::2], words[1::2], strict=True)
        ]
