"""Special registers, moves to uniform registers, and instructions without effect."""

from __future__ import annotations

from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE, WINDOW_SHIFT
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering, is_predicate
from placewise.kernel.binary.sass import Instruction, Name, Operand, Register

BARRIER_RESULT = "%barrier"
"""IR register that holds the result of the last reduction at a barrier."""

_SPECIAL = {
    **{f"SR_{n}.{a.upper()}": f"{n.lower()}.{a}" for n in ("TID", "CTAID") for a in "xyz"},
    "SR_LANEID": "laneid",
    "SR_EQMASK": "lanemask_eq",
    "SR_LTMASK": "lanemask_lt",
    "SR_LEMASK": "lanemask_le",
    "SR_GTMASK": "lanemask_gt",
    "SR_GEMASK": "lanemask_ge",
    "SR_VIRTUALSMID": "smid",
}
_ZERO = frozenset({"SRZ", "SR_CgaCtaId", "SR_CgaSize", "SR_CTAID_IN_CLUSTER"})
_HIGH_WINDOW = {"SR_SWINHI": "shared", "SR_LWINHI": "local"}


def read(c: Context, operand: Operand) -> Node:
    """A special register as i32, or i64 for the clock."""
    if not isinstance(operand, Name):
        c.refuse(f"operand {operand}")
    name = operand.text
    if name in _SPECIAL:
        return c.b.pure("special", "i32", attr=_SPECIAL[name])
    if name in _ZERO:
        return c.zero()
    if name in _HIGH_WINDOW:
        window = WINDOW_OF_SPACE[_HIGH_WINDOW[name]] << WINDOW_SHIFT
        return c.b.const("i32", window >> 32)
    if name.startswith(("SR_CLOCK", "SR_GLOBALTIMER")):
        clock = c.b.effect("special", "i64", attr="clock")
        return c.pairs.halves(clock)[1] if name.endswith("HI") else clock
    return c.refuse(f"special register {name}")


def s2r(c: Context, i: Instruction) -> None:
    """S2R, S2UR."""
    target, source = i.operands
    c.write(target, read(c, source))


def cs2r(c: Context, i: Instruction) -> None:
    """CS2R: 64 bits, or 32."""
    short = c.flag("32")
    target, source = i.operands
    value = read(c, source)
    if short:
        c.write(target, value)
    else:
        c.write_wide(target, c.b.resize(value, "i64"))


def r2ur(c: Context, i: Instruction) -> None:
    """R2UR: copy a register of the first active lane to a uniform register.

    A predicate result tells whether the active lanes hold different values; NVRTC's code for
    warp-wide functions tests it before it uses the value. Under a guard, the predicate tells each
    lane whether its own value differs, for loops over all distinct values.
    """
    *outs, target, source = i.operands
    with c.every_lane():
        value = c.i32(source)
    if c.members:
        c.unsupported(i, "among the lanes that a WARPSYNC has chosen")
    if outs and c.guard is not None:
        _one_of_many(c, outs[0], target, value)
        return
    first = c.b.pure("first", "i32", value)
    if outs:
        (out,) = outs
        differs = c.b.icmp("ne", value, first)
        c.write_predicate(out, c.b.effect("vote", "i1", differs, attr="any"))
    c.write(target, first)


def _one_of_many(c: Context, out: Operand, target: Operand, value: Node) -> None:
    """R2UR under a guard: the value of the first lane where the guard holds.

    With .OR, lanes where the predicate held before keep it.
    """
    assert c.guard is not None
    lanes = c.b.effect("vote", "i32", c.guard, attr="ballot")
    lane = c.b.pure("cttz", "i32", lanes)
    node = c.b.effect("shuffle", "i32", value, lane, c.b.const("i32", 31), attr="idx")
    first = c.b.part(node, 0, "i32")
    differs = c.b.icmp("ne", value, first)
    if c.flag("OR"):
        differs = c.binary("or", differs, c.predicate(out))
    c.write(target, first)
    c.write_predicate(out, differs)


def lepc(c: Context, i: Instruction) -> None:
    """LEPC: the code offset that a function of the driver returns to."""
    target, *place = i.operands
    c.write_wide(target, c.b.const("i64", c.literal(place[0]) if place else i.offset))


def bmov(c: Context, i: Instruction) -> None:
    """BMOV: moves of convergence barrier registers, which hold nothing here."""
    c.without_effect("32", "CLEAR", "PQUAD")
    target, _ = i.operands
    if not isinstance(target, Register) or target.file != "B":
        c.write(target, c.zero())


def b2r(c: Context, i: Instruction) -> None:
    """B2R.RESULT: the result of the last reduction at a barrier, as a count or a predicate."""
    if not c.flag("RESULT"):
        c.unsupported(i)
    target, *outs = i.operands
    value = c.b.get(c.b.reg(BARRIER_RESULT, "i32"))
    if is_predicate(target):
        outs.insert(0, target)
    else:
        c.write(target, value)
    for out in outs:
        c.write_predicate(out, c.b.icmp("ne", value, c.zero()))


def nothing(c: Context, _i: Instruction) -> None:
    """Lower an instruction that changes no result."""
    c.modifiers.clear()


OPCODES: dict[str, Lowering] = {
    "S2R": s2r,
    "S2UR": s2r,
    "CS2R": cs2r,
    "CS2UR": cs2r,
    "B2R": b2r,
    "BMOV": bmov,
    "LEPC": lepc,
    "R2UR": r2ur,
}
"""Functions by opcode."""
