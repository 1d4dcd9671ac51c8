"""Elementwise nodes: the same LLVM operation on scalars and on 32 lanes."""

from __future__ import annotations

from placewise.executor.codegen.text import LLVM, Values
from placewise.executor.codegen.values.directed import MODES, directed_helper
from placewise.executor.ir.nodes import BITS, Node

_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "shl": "shl",
    "lshr": "lshr",
    "ashr": "ashr",
    "fadd": "fadd",
    "fsub": "fsub",
    "fmul": "fmul",
    "fdiv": "fdiv",
}
_CAST = frozenset(["trunc", "zext", "sext", "bitcast", "fptrunc", "fpext", "sitofp", "uitofp"])
_INTRINSIC = {
    "smin": "llvm.smin",
    "smax": "llvm.smax",
    "umin": "llvm.umin",
    "umax": "llvm.umax",
    "sadd_sat": "llvm.sadd.sat",
    "ssub_sat": "llvm.ssub.sat",
    "uadd_sat": "llvm.uadd.sat",
    "usub_sat": "llvm.usub.sat",
    "ctpop": "llvm.ctpop",
    "bitreverse": "llvm.bitreverse",
    "fshl": "llvm.fshl",
    "fshr": "llvm.fshr",
    "fma": "llvm.fma",
    "fabs": "llvm.fabs",
    "copysign": "llvm.copysign",
    "fmin": "llvm.minimumnum",
    "fmax": "llvm.maximumnum",
    "fmin_nan": "llvm.minimum",
    "fmax_nan": "llvm.maximum",
    "sqrt": "llvm.sqrt",
    "floor": "llvm.floor",
    "ceil": "llvm.ceil",
    "ftrunc": "llvm.trunc",
    "rint": "llvm.roundeven",
    "sin": "llvm.sin",
    "cos": "llvm.cos",
    "exp2": "llvm.exp2",
    "log2": "llvm.log2",
    "tanh": "llvm.tanh",
}
_DIVISION = frozenset({"sdiv", "udiv", "srem", "urem"})


def emit(v: Values, n: Node) -> None:
    """Append the operation of ``n`` and record its value."""
    wide = v.is_wide(n)
    op = n.op
    result = v.wide(n.type) if wide else LLVM[n.type]
    args = [v.vector(a) if wide else v.scalar(a) for a in n.args]
    types = [v.wide(a.type) if wide else LLVM[a.type] for a in n.args]
    if n.attr in MODES:
        value = _rounded(v, n, result, list(zip(types, args, strict=True)))
    elif op in _BINARY:
        value = v.op(f"{_BINARY[op]} {result} {args[0]}, {args[1]}")
    elif op == "icmp" or op == "fcmp":
        value = v.op(f"{op} {n.attr} {types[0]} {args[0]}, {args[1]}")
    elif op == "select":
        # A condition that is the same in all lanes stays a scalar.
        if wide and n.args[0].uniform and n.args[0].op != "const":
            args[0], types[0] = v.scalar(n.args[0]), "i1"
        value = v.op(f"select {types[0]} {args[0]}, {types[1]} {args[1]}, {types[2]} {args[2]}")
    elif op in _CAST:
        value = v.op(f"{op} {types[0]} {args[0]} to {result}")
    elif op == "fneg":
        value = v.op(f"fneg {result} {args[0]}")
    elif op in _INTRINSIC:
        name = f"{_INTRINSIC[op]}.{v.overload(n.type, wide=wide)}"
        value = v.call(result, name, *zip(types, args, strict=True))
    elif op in ("ctlz", "cttz"):
        name = f"llvm.{op}.{v.overload(n.type, wide=wide)}"
        value = v.call(result, name, (result, args[0]), ("i1", "false"))
    elif op in ("fptosi", "fptoui"):
        to = v.overload(n.type, wide=wide)
        of = v.overload(n.args[0].type, wide=wide)
        value = v.call(result, f"llvm.{op}.sat.{to}.{of}", (types[0], args[0]))
    elif op in _DIVISION:
        value = _divide(v, op, n.type, args[0], args[1], wide=wide)
    elif op in ("mulhi_s", "mulhi_u"):
        value = _high_product(v, n.type, args[0], args[1], wide=wide, signed=op[-1] == "s")
    else:
        raise AssertionError(op)
    v.set(n, value)


def _rounded(v: Values, n: Node, result: str, args: list[tuple[str, str]]) -> str:
    """Call the helper that rounds by the node's mode."""
    operand = v.overload(n.args[0].type, wide=v.is_wide(n))
    name = f"@{n.op}.{n.attr}.{v.overload(n.type, wide=v.is_wide(n))}.{operand}"
    if name not in v.rounded:
        v.rounded[name] = directed_helper(v.declarations, name, n, result, [t for t, _ in args])
    listed = ", ".join(f"{t} {x}" for t, x in args)
    return v.op(f"call fastcc {result} {name}({listed})")


def _constant(value: int, type_: str, *, wide: bool) -> str:
    return f"splat ({type_} {value})" if wide else str(value)


def _divide(v: Values, op: str, type_: str, a: str, b: str, *, wide: bool) -> str:
    """Integer division that never traps: garbage in inactive lanes must do no harm.

    A divisor of 0 gives a quotient of all ones and the dividend as remainder (the result is
    undefined in PTX); the smallest number by -1 wraps. Up to 32 bits the quotient of doubles,
    truncated, is exact, since a quotient that is not whole lies at least 1/b from a whole number.
    """
    bits = BITS[type_]
    result = v.wide(type_) if wide else type_
    signed = op[0] == "s"
    if bits > 32:
        return _divide_long(v, op, result, a, b, wide=wide)
    double = v.wide("double") if wide else "double"
    word = v.wide("i32") if wide else "i32"
    cast = "sext" if signed else "zext"
    if bits < 32:
        a32, b32 = (v.op(f"{cast} {result} {x} to {word}") for x in (a, b))
    else:
        a32, b32 = a, b
    to_float = "sitofp" if signed else "uitofp"
    x, y = (v.op(f"{to_float} {word} {q} to {double}") for q in (a32, b32))
    quotient = v.op(f"fdiv {double} {x}, {y}")
    long = v.wide("i64") if wide else "i64"
    # By 0 this is undefined, and replaced below.
    whole = v.op(f"fptosi {double} {quotient} to {long}")
    low = v.op(f"trunc {long} {whole} to {word}")
    zero = v.op(f"icmp eq {word} {b32}, {_constant(0, 'i32', wide=wide)}")
    flag = v.wide("i1") if wide else "i1"
    if op[1:] == "div":
        answer = v.op(
            f"select {flag} {zero}, {word} {_constant(-1, 'i32', wide=wide)}, {word} {low}"
        )
    else:
        back = v.op(f"mul {word} {low}, {b32}")
        rest = v.op(f"sub {word} {a32}, {back}")
        answer = v.op(f"select {flag} {zero}, {word} {a32}, {word} {rest}")
    return answer if bits == 32 else v.op(f"trunc {word} {answer} to {result}")


def _divide_long(v: Values, op: str, result: str, a: str, b: str, *, wide: bool) -> str:
    flag = v.wide("i1") if wide else "i1"
    one, zero = _constant(1, "i64", wide=wide), _constant(0, "i64", wide=wide)
    least, minus = _constant(-(1 << 63), "i64", wide=wide), _constant(-1, "i64", wide=wide)
    by_zero = v.op(f"icmp eq {result} {b}, {zero}")
    unsafe = by_zero
    if op[0] == "s":
        least_a = v.op(f"icmp eq {result} {a}, {least}")
        minus_b = v.op(f"icmp eq {result} {b}, {minus}")
        wraps = v.op(f"and {flag} {least_a}, {minus_b}")
        unsafe = v.op(f"or {flag} {by_zero}, {wraps}")
    safe = v.op(f"select {flag} {unsafe}, {result} {one}, {result} {b}")
    value = v.op(f"{op} {result} {a}, {safe}")
    if op[1:] == "div":
        return v.op(f"select {flag} {by_zero}, {result} {minus}, {result} {value}")
    return v.op(f"select {flag} {by_zero}, {result} {a}, {result} {value}")


def _high_product(v: Values, type_: str, a: str, b: str, *, wide: bool, signed: bool) -> str:
    """The upper half of a product."""
    bits = BITS[type_]
    result = v.wide(type_) if wide else type_
    if bits == 64 and wide:
        return _high_product_long(v, a, b, signed=signed)
    double = v.wide(f"i{2 * bits}") if wide else f"i{2 * bits}"
    cast = "sext" if signed else "zext"
    x, y = (v.op(f"{cast} {result} {q} to {double}") for q in (a, b))
    product = v.op(f"mul {double} {x}, {y}")
    shift = _constant(bits, f"i{2 * bits}", wide=wide)
    return v.op(f"trunc {double} {v.op(f'lshr {double} {product}, {shift}')} to {result}")


def _high_product_long(v: Values, a: str, b: str, *, signed: bool) -> str:
    """64 by 64 bits from four 32-bit products; a signed one corrects the unsigned one."""
    t = v.wide("i64")
    half, low_mask = "splat (i64 32)", "splat (i64 4294967295)"
    al, bl = (v.op(f"and {t} {q}, {low_mask}") for q in (a, b))
    ah, bh = (v.op(f"lshr {t} {q}, {half}") for q in (a, b))
    ll, lh = v.op(f"mul {t} {al}, {bl}"), v.op(f"mul {t} {al}, {bh}")
    hl, hh = v.op(f"mul {t} {ah}, {bl}"), v.op(f"mul {t} {ah}, {bh}")
    carry = v.op(f"lshr {t} {ll}, {half}")
    middle = v.op(f"add {t} {v.op(f'and {t} {lh}, {low_mask}')}, {carry}")
    middle = v.op(f"add {t} {middle}, {v.op(f'and {t} {hl}, {low_mask}')}")
    high = v.op(f"add {t} {hh}, {v.op(f'lshr {t} {lh}, {half}')}")
    high = v.op(f"add {t} {high}, {v.op(f'lshr {t} {hl}, {half}')}")
    high = v.op(f"add {t} {high}, {v.op(f'lshr {t} {middle}, {half}')}")
    if not signed:
        return high
    for x, y in ((a, b), (b, a)):
        sign = v.op(f"ashr {t} {x}, splat (i64 63)")
        high = v.op(f"sub {t} {high}, {v.op(f'and {t} {sign}, {y}')}")
    return high
