"""Instructions that look at other lanes of the warp."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.context import Context, Lowering, is_predicate
from placewise.kernel.binary.sass import Instruction

_REDUCTIONS = {"SUM": "add", "AND": "and", "OR": "or", "XOR": "xor"}


def warpsync(c: Context, i: Instruction) -> None:
    """WARPSYNC: lanes meet. With .EXCLUSIVE or .COLLECTIVE only those of its mask go on together.

    In its other forms it changes nothing: lanes meet by the order of blocks.
    """
    if c.one_of("EXCLUSIVE", "COLLECTIVE"):
        c.members = (c.i32(i.operands[0]),)
    c.without_effect("ALL")


def bsync(c: Context, i: Instruction) -> None:
    """BSYNC, ENDCOLLECTIVE: lanes meet again.

    A block begins wherever paths of lanes meet; its first instruction is a BSYNC if the lanes wait
    for one another there.
    """
    if i.parts[0] == "BSYNC" and c.b.block.instructions == 1:
        c.b.block.meets = True
    c.without_effect("RECONVERGENT", "RELIABLE")
    c.members = ()


def shfl(c: Context, i: Instruction) -> None:
    """SHFL.mode P, d, value, lane, clamp; a lane that does not take part has no defined value."""
    mode = c.one_of("IDX", "UP", "DOWN", "BFLY")
    if mode is None:
        c.unsupported(i)
    out, target, *sources = i.operands
    with c.every_lane():
        value, lane, clamp = (c.i32(s) for s in sources)
    node = c.b.effect("shuffle", "i32", value, lane, clamp, attr=mode.lower())
    c.write_predicate(out, c.b.part(node, 1, "i1"))
    c.write(target, c.b.part(node, 0, "i32"))


def vote(c: Context, i: Instruction) -> None:
    """VOTE.mode d, P, p: the ballot, and whether p holds in all, any, or is alike in all lanes."""
    mode = c.one_of("ALL", "ANY", "EQ")
    if mode is None:
        c.unsupported(i)
    operands = list(i.operands)
    target = None if is_predicate(operands[0]) else operands.pop(0)
    out, source = operands
    predicate = c.predicate(source)
    if c.guard is not None:
        # Lanes without the guard take no part: they must not change the answer.
        if mode == "EQ":
            c.unsupported(i, "under a predicate")
        out_of_it = c.negate(c.guard)
        everywhere = c.binary("or", predicate, out_of_it)
        predicate = everywhere if mode == "ALL" else c.binary("and", predicate, c.guard)
        if mode == "ALL" and target is not None:
            c.unsupported(i, "under a predicate")
    if target is not None:
        c.write(target, c.b.effect("vote", "i32", predicate, *c.members, attr="ballot"))
    name = {"ALL": "all", "ANY": "any", "EQ": "uni"}[mode]
    c.write_predicate(out, c.b.effect("vote", "i1", predicate, *c.members, attr=name))


def match(c: Context, i: Instruction) -> None:
    """MATCH.ANY d, v and MATCH.ALL P, d, v: the lanes that have the same value."""
    mode = c.one_of("ANY", "ALL")
    wide = c.flag("U64")
    c.without_effect("U32")
    if mode is None or c.guard is not None:
        c.unsupported(i)
    *outs, target, source = i.operands
    value = c.i64(source) if wide else c.i32(source)
    node = c.b.effect("match", "i32", value, *_everyone(c, mode), attr=mode.lower())
    c.write(target, c.b.part(node, 0, "i32"))
    if outs:
        c.write_predicate(outs[0], c.b.part(node, 1, "i1"))


def _everyone(c: Context, mode: str) -> tuple[Node, ...]:
    if c.members or mode == "ANY":
        return c.members
    return (c.b.effect("activemask", "i32"),)


def redux(c: Context, i: Instruction) -> None:
    """REDUX: a reduction over the active lanes, to a uniform register."""
    signed = c.flag("S32")
    operation = c.one_of(*_REDUCTIONS, "MIN", "MAX")
    target, source = i.operands
    if operation is None:
        # Without a name it is the bitwise and.
        operation = "AND"
    if c.guard is not None:
        c.unsupported(i, "under a predicate")
    if operation in ("MIN", "MAX"):
        name = ("s" if signed else "u") + operation.lower()
    else:
        name = _REDUCTIONS[operation]
    c.write(target, c.b.effect("reduce", "i32", c.i32(source), *c.members, attr=name))


OPCODES: dict[str, Lowering] = {
    "WARPSYNC": warpsync,
    "BSYNC": bsync,
    "ENDCOLLECTIVE": bsync,
    "SHFL": shfl,
    "VOTE": vote,
    "VOTEU": vote,
    "MATCH": match,
    "REDUX": redux,
    "CREDUX": redux,
}
"""Functions by opcode."""
