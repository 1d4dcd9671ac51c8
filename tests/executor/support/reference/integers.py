"""Integer instructions of PTX on bit patterns (unsigned Python integers of the type's width)."""

WIDTHS = {"pred": 1, "e4m3": 8, "e5m2": 8, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32x2": 64}
WIDTHS |= {f"{letter}{n}": n for letter in "busf" for n in (8, 16, 32, 64, 128)}
WIDTHS |= {"u16x2": 32, "s16x2": 32}


def mask(bits):
    return (1 << bits) - 1


def signed(value, bits):
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def number(value, type_):
    """The number that a pattern stands for in an integer type."""
    return signed(value, WIDTHS[type_]) if type_[0] == "s" else value & mask(WIDTHS[type_])


def limits(type_):
    bits = WIDTHS[type_]
    return (-(1 << (bits - 1)), mask(bits - 1)) if type_[0] == "s" else (0, mask(bits))


def clamp(value, type_):
    low, high = limits(type_)
    return min(max(value, low), high)


def _truncated_division(x, y):
    q = abs(x) // abs(y)
    return -q if (x < 0) != (y < 0) else q


def _product(parts, type_, a, b):
    bits = WIDTHS[type_]
    product = number(a, type_) * number(b, type_)
    return product >> bits if "hi" in parts else product


def _product24(parts, type_, a, b):
    a, b = (signed(v, 24) if type_[0] == "s" else v & mask(24) for v in (a, b))
    return (a * b) >> 16 if "hi" in parts else a * b


def _saturated(parts, value):
    return clamp(value, "s32") if "sat" in parts else value


def _bit_field_extract(type_, a, position, length):
    top = WIDTHS[type_] - 1
    position, length = position & 255, length & 255
    if type_[0] == "u" or length == 0:
        fill = 0
    else:
        fill = a >> min(position + length - 1, top) & 1
    result = 0
    for i in range(top + 1):
        inside = i < length and position + i <= top
        result |= (a >> (position + i) & 1 if inside else fill) << i
    return result


def _bit_field_insert(type_, a, b, position, length):
    top = WIDTHS[type_] - 1
    for i in range(length & 255):
        at = (position & 255) + i
        if at <= top:
            b = b & ~(1 << at) | (a >> i & 1) << at
    return b


def _bit_mask(parts, position, length):
    if "wrap" in parts:
        position, length = position & 31, length & 31
    return mask(min(length, 32)) << min(position, 32)


def _extend(parts, type_, a, bits):
    bits = bits & 31 if "wrap" in parts else min(bits, 32)
    if bits == 0:
        return 0
    return signed(a, bits) if type_[0] == "s" else a & mask(bits)


def _find(parts, type_, a):
    bits = WIDTHS[type_]
    n = number(a, type_)
    magnitude = ~n if n < 0 else n
    if magnitude == 0:
        return -1
    top = magnitude.bit_length() - 1
    return bits - 1 - top if "shiftamt" in parts else top


_PERMUTATIONS = {
    "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
    "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
    "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
}


def _permute(parts, a, b, selector):
    source = (b << 32 | a).to_bytes(8, "little")
    if len(parts) > 2:
        chosen = _PERMUTATIONS[parts[-1]][selector & 3]
        return int.from_bytes(bytes(source[n] for n in chosen), "big")
    result = 0
    for n in range(4):
        nibble = selector >> 4 * n & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 255 if byte >> 7 else 0
        result |= byte << 8 * n
    return result


def _lookup(a, b, c, table):
    return sum(
        (table >> (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) & 1) << i for i in range(32)
    )


def _dot(parts, a, b, c):
    """dp4a: four bytes by four; dp2a: two half-words by the low or the high two bytes."""
    count = 4 if parts[0] == "dp4a" else 2
    bits = 32 // count
    if "hi" in parts:
        b >>= 16
    total = number(c, "s32")
    for n in range(count):
        x, y = (
            number(a >> n * bits, f"{parts[-2][0]}{bits}"),
            number(b >> n * 8, parts[-1][0] + "8"),
        )
        total += x * y
    return total


def integer_operation(parts):
    """(source types, result type, function of patterns) of an integer instruction, or None.

    The function's result is any integer equal to the result modulo the type's range.
    """
    name, type_ = parts[0], parts[-1]
    if name in ("dp4a", "dp2a"):
        return ("b32",) * 3, "b32", lambda a, b, c: _dot(parts, a, b, c)
    if name == "prmt":
        return ("b32",) * 3, "b32", lambda a, b, c: _permute(parts, a, b, c)
    if type_ not in WIDTHS or type_[0] not in "busp" or type_.startswith("bf"):
        return None
    bits = WIDTHS[type_]

    def n(value):
        return number(value, type_)

    def shift_left(a, amount):
        return a << min(amount, bits)

    def shift_right(a, amount):
        return n(a) >> min(amount, bits)

    def funnel(a, b, amount):
        amount = amount & 31 if "wrap" in parts else min(amount, 32)
        pair = b << 32 | a
        return (pair << amount) >> 32 if "l" in parts else pair >> amount

    result = type_
    if "wide" in parts:
        result = f"{type_[0]}{2 * bits}"
    pick = min if name == "min" else max
    one, two, three = (type_,), (type_,) * 2, (type_,) * 3
    table = {
        "add": (two, result, lambda a, b: _saturated(parts, n(a) + n(b))),
        "sub": (two, result, lambda a, b: _saturated(parts, n(a) - n(b))),
        "mul": (two, result, lambda a, b: _product(parts, type_, a, b)),
        "mad": (
            (type_, type_, result),
            result,
            lambda a, b, c: _saturated(parts, _product(parts, type_, a, b) + number(c, result)),
        ),
        "mul24": (two, type_, lambda a, b: _product24(parts, type_, a, b)),
        "mad24": (
            three,
            type_,
            lambda a, b, c: _saturated(
                parts,
                number(_product24(parts, type_, a, b), type_) + n(c),
            ),
        ),
        "sad": (three, type_, lambda a, b, c: n(c) + abs(n(a) - n(b))),
        "div": (two, type_, lambda a, b: _truncated_division(n(a), n(b))),
        "rem": (two, type_, lambda a, b: n(a) - n(b) * _truncated_division(n(a), n(b))),
        "abs": (one, type_, lambda a: abs(n(a))),
        "neg": (one, type_, lambda a: -n(a)),
        "min": (two, type_, lambda a, b: _relu(parts, pick(n(a), n(b)))),
        "max": (two, type_, lambda a, b: _relu(parts, pick(n(a), n(b)))),
        "and": (two, type_, lambda a, b: a & b),
        "or": (two, type_, lambda a, b: a | b),
        "xor": (two, type_, lambda a, b: a ^ b),
        "not": (one, type_, lambda a: ~a),
        "cnot": (one, type_, lambda a: int(a == 0)),
        "shl": ((type_, "u32"), type_, shift_left),
        "shr": ((type_, "u32"), type_, shift_right),
        "shf": (("b32", "b32", "u32"), type_, funnel),
        "bfe": ((type_, "u32", "u32"), type_, lambda a, b, c: _bit_field_extract(type_, a, b, c)),
        "bfi": (
            (type_, type_, "u32", "u32"),
            type_,
            lambda a, b, c, d: _bit_field_insert(type_, a, b, c, d),
        ),
        "bmsk": (two, type_, lambda a, b: _bit_mask(parts, a, b)),
        "szext": ((type_, "u32"), type_, lambda a, b: _extend(parts, type_, a, b)),
        "clz": (one, "u32", lambda a: bits - a.bit_length()),
        "popc": (one, "u32", lambda a: a.bit_count()),
        "brev": (one, type_, lambda a: int(f"{a:0{bits}b}"[::-1], 2)),
        "bfind": (one, "u32", lambda a: _find(parts, type_, a)),
        "lop3": (("b32",) * 3 + ("u32",), "b32", _lookup),
    }
    return table.get(name)


def _relu(parts, value):
    return max(value, 0) if "relu" in parts else value
