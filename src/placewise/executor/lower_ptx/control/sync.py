"""Fences, warp synchronisation and waits for copies, noted for checked runs.

The executor does a warp's accesses in program order, so these instructions compute nothing.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import Node, Sync
from placewise.executor.lower_ptx.context import Context
from placewise.kernel.ptx import Immediate, Instruction

BLOCK_SCOPE, DEVICE_SCOPE = 1, 2


def fence(c: Context, i: Instruction) -> None:
    """``membar.level`` and ``fence{.sem}.scope``; proxy fences order nothing between threads."""
    if "proxy" in i.parts or any(p.startswith("mbarrier_init") for p in i.parts):
        return
    scope = BLOCK_SCOPE if "cta" in i.parts else DEVICE_SCOPE
    note(c, i, "fence", operand=scope)


def commit(c: Context, i: Instruction) -> None:
    """cp.async.commit_group."""
    note(c, i, "commit")


def wait(c: Context, i: Instruction) -> None:
    """cp.async.wait_group n (n groups may be left) and cp.async.wait_all."""
    left = i.operands[0].value if i.operands and isinstance(i.operands[0], Immediate) else -1
    note(c, i, "wait", operand=int(left))


def warp(c: Context, i: Instruction) -> None:
    """bar.warp.sync members."""
    note(c, i, "warp", c.src(i.operands[0], "i32"))


def collective(c: Context, i: Instruction, position: int) -> None:
    """Note the member mask of a vote, match or reduction, if it has one."""
    if len(i.operands) > position:
        note(c, i, "collective", c.src(i.operands[position], "i32"))


def shuffle(c: Context, i: Instruction, mode: str, lane: Node, clamp: Node) -> None:
    """Note the member mask of a shuffle, and the lanes that it reads."""
    if len(i.operands) > 4:
        note(c, i, "shuffle", c.src(i.operands[4], "i32"), lane, clamp, mode=mode)


def note(
    c: Context, i: Instruction, kind: str, *args: Node, operand: int = 0, mode: str = ""
) -> None:
    """Append a ``sync`` node under the instruction's guard."""
    guard = () if c.guard is None else (c.guard,)
    sync = Sync(kind, i.opcode, c.place, operand, mode, guarded=bool(guard))
    c.b.sync(sync, *args, *guard)
