"""Instructions as steps of a thread: each a guard, a kind and functions of the thread's frame."""

from typing import Any, NamedTuple

from placewise.kernel.ptx import Pair, Vector
from placewise.kernel.ptx.module import Arguments, Label
from reference import accesses
from reference.arithmetic import comparison, operation
from reference.integers import WIDTHS, integer_operation, mask, number
from reference.memory import LOCAL, PARAM, SHARED, WINDOW, KernelError
from reference.operands import reader, writer

_IGNORED = frozenset(
    ["membar", "fence", "nanosleep", "prefetch", "prefetchu", "applypriority", "discard", "pmevent"]
)
_LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


class Step(NamedTuple):
    """``kind``: do, go, return, exit, call, meet (lanes of a warp) or wait (threads of a block)."""

    kind: str
    action: Any
    guard: Any = None


class Meeting(NamedTuple):
    """A thread's part in a collective instruction of its warp; ``lanes`` None means those here."""

    line: int
    what: tuple[str, ...]
    lanes: int | None
    values: tuple[int, ...]


class Waiting(NamedTuple):
    """A thread's part in a barrier; ``count`` None means the whole block."""

    line: int
    barrier: int
    count: int | None
    arrive_only: bool
    predicate: int


def decode_function(function, names):
    """Steps of a function's body."""
    labels, instructions = {}, []
    for item in function.body:
        if isinstance(item, Label):
            labels[item.name] = len(instructions)
        else:
            instructions.append(item)
    context = (labels, function.branch_targets, names)
    return [_decode(i, *context) for i in instructions]


def _decode(i, labels, branch_targets, names):
    guard = None
    if i.guard is not None:
        wanted, name = int(not i.guard_negated), i.guard.name

        def guard(f):
            return f.registers.get(name, 0) == wanted

    kind, action = _control(i, labels, branch_targets, names) or ("do", _plain(i, names))
    return Step(kind, action, guard)


def _control(i, labels, branch_targets, names):
    name, parts = i.parts[0], i.parts
    if name == "bra":
        target = labels[i.operands[0].name]
        return "go", lambda f: target
    if name == "brx":
        index = reader(i.operands[0], "u32", names)
        targets = [labels[t] for t in branch_targets[i.operands[1].name]]
        return "go", lambda f: targets[index(f)]
    if name in ("ret", "exit"):
        return ("return" if name == "ret" else "exit"), None
    if name == "trap":
        return "do", _trap
    if name == "call":
        operands = list(i.operands)
        results = operands.pop(0).elements if isinstance(operands[0], Arguments) else ()
        callee = operands.pop(0).name
        arguments = operands[0].elements if operands else ()
        return "call", (callee, arguments, results)
    if name in ("bar", "barrier"):
        if "warp" in parts:
            lanes = reader(i.operands[0], "u32", names)
            return "meet", (lambda f: Meeting(i.line, parts, lanes(f), ()), lambda f, r: None)
        return "wait", _barrier(i, names)
    if name in ("shfl", "vote", "match", "redux", "activemask", "elect"):
        return "meet", _collective(i, names)
    return None


def _trap(f):
    raise KernelError("trap")


def _barrier(i, names):
    operands = list(i.operands)
    write = predicate = None
    if "red" in i.parts:
        write = writer(operands.pop(0), "u32" if "popc" in i.parts else "pred")
        predicate = reader(operands.pop(), "pred", names)
    barrier, count = ([reader(o, "u32", names) for o in operands] + [None, None])[:2]
    how = {"popc": sum, "and": all, "or": any}
    reduce = next((how[p] for p in i.parts if p in how), None)

    def arrive(f):
        return Waiting(
            i.line,
            barrier(f) if barrier else 0,
            count(f) if count else None,
            "arrive" in i.parts,
            predicate(f) if predicate else 0,
        )

    def leave(f, predicates):
        if write:
            write(f, int(reduce(predicates)))

    return arrive, leave


def _collective(i, names):
    """(what the thread brings, what it does with the result)."""
    name, parts = i.parts[0], i.parts
    target = i.operands[0]
    second = writer(target.second, "pred") if isinstance(target, Pair) else None
    predicate_result = name == "vote" and "ballot" not in parts
    first = writer(target, "pred" if predicate_result else "b32")
    types = {
        "shfl": ("b32", "u32", "u32"),
        "vote": ("pred",),
        "match": (parts[-1],),
        "redux": (parts[-1],),
        "activemask": (),
        "elect": (),
    }[name]
    values = [reader(o, t, names) for o, t in zip(i.operands[1:], types, strict=False)]
    lanes = None if name == "activemask" else reader(i.operands[-1], "u32", names)

    def bring(f):
        mine = tuple(v(f) for v in values)
        return Meeting(i.line, parts, lanes(f) if lanes else None, mine)

    def take(f, result):
        first(f, result[0])
        if second:
            second(f, result[1])

    return bring, take


def _plain(i, names):
    """Function of a frame that carries out an instruction which concerns its thread alone."""
    name, parts = i.parts[0], i.parts
    if name in _IGNORED:
        return lambda f: None
    if name in ("ld", "ldu"):
        return accesses.load(i, names)
    if name == "st":
        return accesses.store(i, names)
    if name in ("atom", "red"):
        return accesses.atomic(i, names)
    if name == "tex":
        return accesses.texture(i, names)
    if name == "mov":
        return _move(i, names)
    if name == "cvta":
        return _convert_address(i, names)
    if name == "isspacep":
        return _is_space(i, names)
    if name in ("setp", "set"):
        return _compare(i, names)
    if name == "selp":
        type_ = parts[-1]
        a, b = (reader(o, type_, names) for o in i.operands[1:3])
        choice = reader(i.operands[3], "pred", names)
        write = writer(i.operands[0], type_)
        return lambda f: write(f, a(f) if choice(f) else b(f))
    if name in ("addc", "subc", "madc") or "cc" in parts:
        return _with_carry(i, names)
    if name == "lop3" and isinstance(i.operands[0], Pair):
        return _lookup_with_predicate(i, names)
    known = operation(parts)
    if known is None:
        raise KernelError(f"PTX line {i.line}: instruction {i.opcode} is not known")
    types, result, function = known
    sources = [reader(o, t, names) for o, t in zip(i.operands[1:], types, strict=True)]
    write = writer(i.operands[0], result)
    return lambda f: write(f, function(*(s(f) for s in sources)))


def _lookup_with_predicate(i, names):
    function = integer_operation(("lop3", "b32"))[2]
    sources = [reader(o, "b32", names) for o in i.operands[1:5]]
    other = reader(i.operands[5], "pred", names)
    first, second = writer(i.operands[0].first, "b32"), writer(i.operands[0].second, "pred")
    combine = _LOGIC[i.parts[1]]

    def act(f):
        value = function(*(s(f) for s in sources))
        first(f, value)
        second(f, combine(int(value != 0), other(f)))

    return act


def _with_carry(i, names):
    """addc, subc, madc and what sets the flag; no borrow of a subtraction is a carry."""
    parts, type_ = i.parts, i.parts[-1]
    bits = WIDTHS[type_]
    sources = [reader(o, type_, names) for o in i.operands[1:]]
    write = writer(i.operands[0], type_)
    carries_in = parts[0] in ("addc", "subc", "madc")

    def act(f):
        values = [s(f) for s in sources]
        if parts[0] in ("mad", "madc"):
            x, y, z = values
            product = number(x, type_) * number(y, type_)
            values = [(product >> bits if "hi" in parts else product) & mask(bits), z]
        if parts[0].startswith("sub"):
            # Adding the complement and one.
            carry = f.carry if carries_in else 1
            total = values[0] + (values[1] ^ mask(bits)) + carry
        else:
            total = values[0] + values[1] + (f.carry if carries_in else 0)
        write(f, total)
        if "cc" in parts:
            f.carry = int(not 0 <= total <= mask(bits))

    return act


def _compare(i, names):
    parts = i.parts
    of = parts[-1]
    compare = comparison(parts, of)
    a, b = (reader(o, of, names) for o in i.operands[1:3])
    combine = next((_LOGIC[p] for p in parts if p in _LOGIC), None)
    other = reader(i.operands[3], "pred", names) if len(i.operands) > 3 else None

    def results(f, flip=False):
        found = [1 - r if flip else r for r in compare(a(f), b(f))]
        return [combine(r, other(f)) for r in found] if combine else found

    target = i.operands[0]
    if parts[0] == "setp":
        targets = (target.first, target.second) if isinstance(target, Pair) else (target,)
        writers = [writer(t, "pred") for t in targets]

        def set_predicates(f):
            found = results(f)
            if len(writers) == 2 and len(found) == 1:
                found += results(f, flip=True)
            for write, value in zip(writers, found, strict=True):
                write(f, value)

        return set_predicates
    to = parts[-2]
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    write = writer(target, to)

    def set_value(f):
        found = results(f)
        step = WIDTHS[to] // len(found)
        true = one.get(to, mask(step))
        write(f, sum(true << step * n for n, r in enumerate(found) if r))

    return set_value


def _move(i, names):
    target, value = i.operands
    type_ = i.parts[-1]
    bits = WIDTHS[type_]
    if isinstance(value, Vector):
        step = bits // len(value.elements)
        sources = [reader(e, f"b{step}", names) for e in value.elements]
        write = writer(target, type_)
        return lambda f: write(f, sum(s(f) << step * n for n, s in enumerate(sources)))
    source = reader(value, type_, names)
    if isinstance(target, Vector):
        step = bits // len(target.elements)
        writers = [writer(e, f"b{step}") for e in target.elements]

        def unpack(f):
            whole = source(f)
            for n, write in enumerate(writers):
                write(f, whole >> step * n & mask(step))

        return unpack
    write = writer(target, type_)
    return lambda f: write(f, source(f))


_WINDOWS = {"shared": SHARED, "local": LOCAL, "param": PARAM}


def _convert_address(i, names):
    to_space = i.parts[1] == "to"
    space = i.parts[2 if to_space else 1].split("::")[0]
    source, write = reader(i.operands[1], "b64", names), writer(i.operands[0], i.parts[-1])
    move = _WINDOWS[space] << WINDOW if space in ("shared", "local") else 0
    return lambda f: write(f, source(f) + (-move if to_space else move))


def _is_space(i, names):
    space = i.parts[1].split("::")[0]
    source, write = reader(i.operands[1], "b64", names), writer(i.operands[0], "pred")
    windows = {"shared": (SHARED,), "local": (LOCAL,), "param": (PARAM,)}
    if space not in (*windows, "global"):
        raise KernelError(f"isspacep.{space}")

    def act(f):
        number_ = source(f) >> WINDOW
        if space == "global":
            write(f, int(number_ not in (SHARED, LOCAL, PARAM)))
        else:
            write(f, int(number_ in windows[space]))

    return act
