"""Floating-point instructions, comparisons and conversions of PTX on bit patterns."""

import operator

from reference import floats
from reference.floats import FORMATS, decode, encode
from reference.integers import WIDTHS, clamp, integer_operation, limits, mask, number

_PACKED = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32", "u16x2": "u16", "s16x2": "s16"}
_ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")
_INTEGRAL = ("rni", "rzi", "rmi", "rpi")
_EXACT = frozenset(
    [
        "add",
        "sub",
        "mul",
        "fma",
        "mad",
        "div",
        "sqrt",
        "rcp",
        "abs",
        "neg",
        "min",
        "max",
        "copysign",
    ]
)
_CONDITIONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "lo": operator.lt,
    "ls": operator.le,
    "hi": operator.gt,
    "hs": operator.ge,
}


def operation(parts):
    """(source types, result type, function) of an arithmetic instruction; None if not known."""
    if parts[-1] == "relu":
        # Integers name it after the type, floats before.
        return operation((parts[0], "relu", *parts[1:-1]))
    type_ = parts[-1]
    if type_ in _PACKED and parts[0] not in ("setp", "set", "cvt"):
        inner = operation((*parts[:-1], _PACKED[type_]))
        if inner is None:
            return None
        sources, _, function = inner
        return (type_,) * len(sources), type_, _by_halves(function, WIDTHS[_PACKED[type_]])
    if parts[0] in ("setp", "set"):
        return None
    if parts[0] == "cvt":
        return _conversion(parts)
    if parts[0] == "testp":
        f = FORMATS[type_]
        return (type_,), "pred", lambda a: int(_test(parts[1], a, f))
    if parts[0] == "slct":
        return _select(parts)
    if type_ in FORMATS and parts[0] in _EXACT and "approx" not in parts and "full" not in parts:
        return _float_operation(parts, FORMATS[type_])
    return integer_operation(parts)


def _by_halves(function, bits):
    def packed(*values):
        low = function(*(v & mask(bits) for v in values)) & mask(bits)
        high = function(*(v >> bits for v in values)) & mask(bits)
        return high << bits | low

    return packed


def mode_of(parts):
    return next((p for p in parts if p in _ROUNDINGS), "rn")


def flush(bits, f):
    """A subnormal to zero of its sign."""
    sign = bits & 1 << (f.bits - 1)
    return sign if bits & ~sign < 1 << f.fraction else bits


def _finish(parts, bits, f):
    """.ftz, .sat and .relu on a result."""
    negative, nan = bits >> (f.bits - 1), decode(bits, f).kind == "nan"
    if "ftz" in parts and f.bits == 32:
        bits = flush(bits, f)
    if "sat" in parts:
        bits = 0 if nan or negative else min(bits, f.one)
    if "relu" in parts and negative and not nan:
        bits = 0
    return bits


def _float_operation(parts, f):
    name, mode, type_ = parts[0], mode_of(parts), parts[-1]

    def prepared(values):
        return [flush(v, f) for v in values] if "ftz" in parts and f.bits == 32 else values

    def computed(*values):
        reals = [decode(v, f) for v in prepared(values)]
        if name == "add":
            exact = floats.add(*reals, mode)
        elif name == "sub":
            exact = floats.add(reals[0], floats.negate(reals[1]), mode)
        elif name == "mul":
            exact = floats.multiply(*reals)
        elif name in ("fma", "mad"):
            exact = floats.add(floats.multiply(*reals[:2]), reals[2], mode)
        elif name == "div":
            exact = floats.divide(*reals)
        elif name == "rcp":
            exact = floats.divide(decode(f.one, f), *reals)
        else:
            exact = floats.root(*reals)
        return _finish(parts, encode(exact, f, mode), f)

    sign_bit = 1 << (f.bits - 1)
    if name == "abs":
        return (type_,), type_, lambda a: prepared([a])[0] & ~sign_bit
    if name == "neg":
        return (type_,), type_, lambda a: prepared([a])[0] ^ sign_bit
    if name == "copysign":
        return (type_,) * 2, type_, lambda a, b: a & sign_bit | b & ~sign_bit
    if name in ("min", "max"):

        def chosen(*values):
            return _extreme(parts, prepared(values), f)

        return (type_,) * 2, type_, chosen
    count = {"fma": 3, "mad": 3, "sqrt": 1, "rcp": 1}.get(name, 2)
    return (type_,) * count, type_, computed


def _extreme(parts, values, f):
    signs = 0
    if "xorsign" in parts:
        signs = (values[0] ^ values[1]) >> (f.bits - 1)
        values = [v & ~(1 << (f.bits - 1)) for v in values]
    elif "abs" in parts:
        values = [v & ~(1 << (f.bits - 1)) for v in values]
    numbers = [v for v in values if decode(v, f).kind != "nan"]
    if not numbers or ("NaN" in parts and len(numbers) < len(values)):
        return f.nan

    def order(v):
        # Patterns of one sign are ordered like their magnitudes, and -0 comes before +0.
        return -(v & ~(1 << (f.bits - 1))) - 1 if v >> (f.bits - 1) else v

    best = (min if parts[0] == "min" else max)(numbers, key=order)
    return best ^ signs << (f.bits - 1)


def _test(what, bits, f):
    x = decode(bits, f)
    normal = x.kind == "finite" and x.m >= 1 << f.fraction
    return {
        "finite": x.kind == "finite",
        "infinite": x.kind == "inf",
        "number": x.kind != "nan",
        "notanumber": x.kind == "nan",
        "normal": normal,
        "subnormal": x.kind == "finite" and x.m and not normal,
    }[what]


def _select(parts):
    type_, of = parts[-2], parts[-1]

    def nonnegative(c):
        if of == "s32":
            return number(c, "s32") >= 0
        if "ftz" in parts:
            c = flush(c, FORMATS["f32"])
        order = floats.compare(decode(c, FORMATS["f32"]), floats.from_integer(0))
        return order is not None and order >= 0

    return (type_, type_, of), type_, lambda a, b, c: a if nonnegative(c) else b


def comparison(parts, type_):
    """Function of two patterns to a list of 0/1, one for each packed element."""
    condition = parts[1]
    if type_ in ("f16x2", "bf16x2"):
        one = comparison(parts, _PACKED[type_])
        return lambda a, b: one(a & 0xFFFF, b & 0xFFFF) + one(a >> 16, b >> 16)
    if type_ not in FORMATS:
        compare = _CONDITIONS[condition]
        return lambda a, b: [int(compare(number(a, type_), number(b, type_)))]
    f = FORMATS[type_]

    def compared(a, b):
        if "ftz" in parts:
            a, b = flush(a, f), flush(b, f)
        order = floats.compare(decode(a, f), decode(b, f))
        if condition in ("num", "nan"):
            return [int((order is None) == (condition == "nan"))]
        if order is None:
            return [int(condition.endswith("u"))]
        return [int(_CONDITIONS[condition.removesuffix("u")](order, 0))]

    return compared


def _conversion(parts):
    to, of = parts[-2], parts[-1]
    if "pack" in parts:
        return _packing(parts)
    if to in ("f16x2", "bf16x2") and of == "f32":
        convert = _convert_to_float(parts, _PACKED[to], of)
        return (of, of), to, lambda a, b: convert(a) << 16 | convert(b)
    if to in FORMATS:
        return (of,), to, _convert_to_float(parts, to, of)
    if of in FORMATS:
        return (of,), to, _convert_to_integer(parts, to, of)

    def resize(a):
        value = number(a, of)
        return clamp(value, to) if "sat" in parts else value

    return (of,), to, resize


def _convert_to_integer(parts, to, of):
    f = FORMATS[of]
    mode = next(p for p in parts if p in _INTEGRAL)
    low, high = limits(to)

    def convert(a):
        if "ftz" in parts:
            a = flush(a, f)
        x = decode(a, f)
        if x.kind == "nan":
            # PTX ISA 9.0, cvt: zero unless the source is f64 or the result has 64 bits.
            return 1 << (WIDTHS[to] - 1) if of == "f64" or WIDTHS[to] == 64 else 0
        return floats.to_integer(x, mode, low, high)

    return convert


def _convert_to_float(parts, to, of):
    f = FORMATS[to]
    integral = next((p for p in parts if p in _INTEGRAL), None)

    def convert(a):
        if of in FORMATS:
            if "ftz" in parts and of == "f32":
                a = flush(a, FORMATS[of])
            x = decode(a, FORMATS[of])
        else:
            x = floats.from_integer(number(a, of))
        if integral:
            x = floats.integral(x, integral)
        return _finish(parts, encode(x, f, mode_of(parts)), f)

    return convert


def _packing(parts):
    """cvt.pack.sat.convertType.abType[.cType]"""
    to = next(p for p in parts if p[0] in "us" and p[1:].isdigit())
    bits = WIDTHS[to]

    def pack(a, b, rest=0):
        a, b = (clamp(number(v, "s32"), to) & mask(bits) for v in (a, b))
        return rest << 2 * bits | a << bits | b

    return ("s32", "s32") + (("b32",) if parts[-1] == "b32" else ()), "b32", pack
