"""Uniformity analysis: which values all lanes of a warp share, and where lanes may diverge.

Each depends on the other. A branch diverges only if its condition varies between lanes. A register
varies if it is written while other lanes wait elsewhere for its old value. The analysis starts from
"everything is uniform, nothing diverges" and weakens both until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.ir.nodes import (
    Barrier,
    Branch,
    Exit,
    Jump,
    Node,
    Program,
    Switch,
    Sync,
    Trap,
)
from placewise.executor.passes import cfg

_ALWAYS = frozenset({"const", "param", "activemask", "first"})
_NEVER = frozenset({"atomic", "heap", "host", "mma", "sample", "shuffle", "surface", "texture"})

_TOGETHER = frozenset({"shuffle", "vote", "match", "reduce", "activemask", "mma", "permute"})
"""Operations that the lanes of a warp do together."""

EXIT = -1
"""Target of lanes whose thread ends."""


@dataclass(frozen=True)
class WarpShape:
    """Which thread coordinates a warp's lanes share, from the block's shape."""

    x_uniform: bool
    y_uniform: bool
    z_uniform: bool

    @classmethod
    def of(cls, block: tuple[int, int, int]) -> WarpShape:
        x, y, z = block
        return cls(
            x_uniform=x == 1,
            y_uniform=y == 1 or x % 32 == 0,
            z_uniform=z == 1 or (x * y) % 32 == 0,
        )


@dataclass(frozen=True)
class Flow:
    """Result of the analysis, for the code generator. Bit n of a bit set stands for number n."""

    live_in: list[int]
    """Per block, bit set of the registers that are live at its start."""
    pending: list[int]
    """Per block, bit set of the blocks that other lanes may wait to enter while it runs. All come
    after it in the order, except around loops that wait for other lanes."""
    varying: int
    """Bit set of registers that may differ between lanes."""
    exits: int
    """Bit set of blocks that only end their threads."""
    loop_heads: frozenset[int]
    """Targets of back edges: blocks that are entered from themselves or from a later block."""
    gives_way: tuple[int, ...]
    """Heads of loops that wait for other warps or lanes; a warp yields there."""
    steps_in: int
    """Bit set of blocks that lanes may run while others of their warp wait in a yielding loop."""


def analyse(program: Program, shape: WarpShape) -> Flow:
    """Fill in every node's ``uniform`` and find where lanes may diverge, for one shape of warps."""
    live = cfg.live_in(program.blocks)
    exits = sum(1 << b.number for b in program.blocks if b.number and cfg.is_plain_exit(b))
    lane_spaces = ("local", "stack", *(("generic",) if program.local_bytes else ()))
    uniform_special = _uniform_specials(shape)
    varying = 0
    steps_in = _may_step_in(program)
    while True:
        for block in program.blocks:
            for n in block.nodes:
                n.uniform = _is_uniform(n, varying, uniform_special, lane_spaces)
        heads = _loop_heads(program, exits)
        pending = _pending(program, exits, heads & program.waiting, steps_in)
        now = varying
        for block in program.blocks:
            needed = live_in_any(live, pending[block.number])
            for n in block.nodes:
                if n.op == "set":
                    bit = 1 << n.reg.number
                    if not n.args[0].uniform or needed & bit:
                        now |= bit
        if now == varying:
            gives_way = tuple(sorted(heads & program.waiting))
            return Flow(live, pending, varying, exits, heads, gives_way, steps_in)
        varying = now


def _may_step_in(program: Program) -> int:
    """Bit set of blocks without operations that need all lanes of the warp together."""
    found = 0
    for block in program.blocks:
        together = isinstance(block.terminator, Barrier) or any(
            n.op in _TOGETHER or (isinstance(n.attr, Sync) and n.attr.kind != "fence")
            for n in block.nodes
        )
        if not together:
            found |= 1 << block.number
    return found


def _loop_heads(program: Program, exits: int) -> frozenset[int]:
    return frozenset(
        target
        for block in program.blocks
        for group in targets(program, block.number, exits)
        for target in group
        if target != EXIT and target <= block.number
    )


def _uniform_specials(shape: WarpShape) -> frozenset[str]:
    names = {f"{n}.{a}" for n in ("ntid", "ctaid", "nctaid") for a in "xyz"}
    names |= {
        "warpid",
        "nwarpid",
        "smid",
        "nsmid",
        "gridid",
        "dynamic_shared",
        "total_shared",
        "clock",
    }
    for axis, uniform in (("x", shape.x_uniform), ("y", shape.y_uniform), ("z", shape.z_uniform)):
        if uniform:
            names.add(f"tid.{axis}")
    return frozenset(names)


def _is_uniform(
    n: Node, varying: int, specials: frozenset[str], lane_spaces: tuple[str, ...]
) -> bool:
    op = n.op
    if op in _ALWAYS:
        return True
    if op in _NEVER:
        return False
    if op == "get":
        return not varying >> n.reg.number & 1
    if op == "special":
        return n.attr in specials
    if op == "load":
        # One local address is a different place for each lane.
        return n.access.space not in lane_spaces and all(a.uniform for a in n.args)
    if op == "match":
        return n.attr == "all" and all(a.uniform for a in n.args[1:])
    if op in ("vote", "reduce"):
        # Of the operands only the mask decides: lanes of one group have the same result.
        return all(a.uniform for a in n.args[1:])
    return all(a.uniform for a in n.args)


def _bits(blocks: int) -> list[int]:
    return [n for n in range(blocks.bit_length()) if blocks >> n & 1]


def live_in_any(live: list[int], blocks: int) -> int:
    found = 0
    while blocks:
        low = blocks & -blocks
        found |= live[low.bit_length() - 1]
        blocks ^= low
    return found


def targets(program: Program, number: int, exits: int) -> list[tuple[int, ...]]:
    """Groups of blocks that lanes of block ``number`` go to together.

    One group holds alternatives that can be taken at once by different lanes; several groups are
    alternatives for the warp as a whole. :data:`EXIT` stands for blocks that only end threads.
    """
    t = program.blocks[number].terminator

    def place(target: int) -> int:
        return EXIT if exits >> target & 1 else target

    if isinstance(t, Jump):
        return [(place(t.target),)]
    if isinstance(t, Barrier):
        return [(t.target,)]
    if isinstance(t, Branch):
        both = (place(t.taken), place(t.other))
        return [(x,) for x in both] if t.condition.uniform else [tuple(dict.fromkeys(both))]
    if isinstance(t, Switch):
        all_ = tuple(dict.fromkeys(place(x) for x in t.targets))
        return [(x,) for x in all_] if t.index.uniform else [all_]
    assert isinstance(t, Exit | Trap)
    return [(EXIT,)]


def _pending(program: Program, exits: int, gives_way: frozenset[int], steps_in: int) -> list[int]:
    """Per block, bit set of the blocks that other lanes may wait to enter while it runs.

    Lanes at the head of a waiting loop (``gives_way``) let lanes run that wait in ``steps_in``.
    """
    count = len(program.blocks)
    pending: list[int] = [0] * count
    reached = {0}
    work = [0]
    queued = {0}
    while work:
        number = work.pop()
        queued.discard(number)
        waiting = 0
        if not isinstance(program.blocks[number].terminator, Barrier):
            waiting = pending[number]
        if number in gives_way:
            # A warp yields at the block's head, so this holds even if the block ends in a barrier.
            for at in _bits(pending[number] & steps_in):
                new = pending[at] | (pending[number] & ~(1 << at)) | 1 << number
                if new != pending[at]:
                    pending[at] = new
                    if at not in queued:
                        queued.add(at)
                        work.append(at)
        for group in targets(program, number, exits):
            candidates = waiting
            for target in group:
                if target != EXIT:
                    candidates |= 1 << target
            # Some lane goes to a block of the group, so no block after the group's last comes next.
            last = count if EXIT in group else max(group)
            rest = candidates
            while rest:
                low = rest & -rest
                at = low.bit_length() - 1
                if at > last:
                    break
                rest ^= low
                new = pending[at] | rest
                if new != pending[at] or at not in reached:
                    pending[at] = new
                    reached.add(at)
                    if at not in queued:
                        queued.add(at)
                        work.append(at)
    return pending


def loop_blocks(program: Program) -> int:
    """Bit set of the blocks that lie in a loop."""
    successors = [b.successors() for b in program.blocks]
    found = 0
    for component in cfg.components(set(range(len(successors))), dict(enumerate(successors))):
        first = min(component)
        if len(component) > 1 or first in successors[first]:
            for number in component:
                found |= 1 << number
    return found
