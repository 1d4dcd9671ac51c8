"""Calls of the checker: before every access, at barriers, and where lanes or threads synchronise.

Operands go through a buffer, where the checker finds 32 words for each: addresses before values,
member masks before the lanes that a shuffle reads.
"""

from __future__ import annotations

from placewise.executor.codegen.state import State
from placewise.executor.codegen.values import warpops
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.ir.nodes import BITS, Barrier, Block, Node, Sync

_WORDS = 32 * 8
"""Bytes of the first operand in the buffer."""


def allowed(s: State, n: Node, mask: str) -> str:
    """Emit the checker's call before an access; returns the lanes of ``mask`` whose access is
    allowed. The checker notes the others, which must not access."""
    access = n.access
    if n.op not in ("load", "store", "atomic"):
        return mask
    scratch = s.invariant(Slot.CHECK_SCRATCH, "ptr")
    address = _wide(s, s.vector(n.args[0]), n.args[0].type)
    if access.offset:
        # Shared and local addresses have 32 bits, and so has their sum with an offset.
        narrow = n.args[0].type == "i32"
        address = s.op(f"add <32 x i64> {address}, splat (i64 {access.offset})")
        if narrow:
            address = s.op(f"and <32 x i64> {address}, splat (i64 4294967295)")
    s.do(f"store <32 x i64> {address}, ptr {scratch}, align 8")
    values = {"load": 0, "store": access.count}.get(n.op, 1)
    size = access.bits // 8
    for number, value in enumerate(n.args[1 : 1 + values]):
        place = s.op(f"getelementptr i8, ptr {scratch}, i64 {_WORDS + number * 32 * size}")
        s.do(f"store <32 x i{access.bits}> {s.vector(value)}, ptr {place}, align 1")
    function = s.invariant(Slot.CHECK_ACCESS, "ptr")
    return s.op(f"call i32 {function}({_who(s)}, i32 {access.site}, i32 {mask})")


def synchronise(s: State, n: Node) -> None:
    """Emit the checker's call at an instruction that synchronises lanes or threads."""
    sync = n.attr
    assert isinstance(sync, Sync)
    scratch = s.invariant(Slot.CHECK_SCRATCH, "ptr")
    mask = s.mask
    if sync.guarded:
        mask = s.op(f"and i32 {mask}, {s.mask_of(n.args[-1])}")
    if n.args and sync.kind in ("warp", "collective", "shuffle"):
        members = _wide(s, s.vector(n.args[0]), "i32")
        s.do(f"store <32 x i64> {members}, ptr {scratch}, align 8")
    if sync.kind == "shuffle":
        source, _ = warpops.sources(s, n.args[1], n.args[2], sync.mode)
        place = s.op(f"getelementptr i8, ptr {scratch}, i64 {_WORDS}")
        s.do(f"store <32 x i64> {_wide(s, source, 'i32')}, ptr {place}, align 8")
    function = s.invariant(Slot.CHECK_SYNC, "ptr")
    s.do(f"call void {function}({_who(s)}, i32 {sync.number}, i32 {mask}, i32 {_alive(s)})")


def arrive(s: State, block: Block, t: Barrier, number: str) -> None:
    """The warp reaches a barrier; ``number`` names it (i64)."""
    function = s.invariant(Slot.CHECK_ARRIVAL, "ptr")
    s.do(
        f"call void {function}({_who(s)}, i32 {block.number}, i32 {s.mask}, i64 {number}, "
        f"i64 {int(not t.arrive_only)})"
    )


def resume(s: State) -> None:
    """Emit the checker's call where a warp goes on behind a barrier."""
    function = s.invariant(Slot.CHECK_RESUME, "ptr")
    s.do(f"call void {function}({_who(s)})")


def _who(s: State) -> str:
    """The arguments that every call starts with: state, resident block, block, warp."""
    state = s.invariant(Slot.CHECK_STATE)
    return (
        f"i64 {state}, i64 {s.slot(Slot.RESIDENT)}, i64 {s.slot(Slot.BLOCK)}, "
        f"i64 {s.slot(Slot.WARP)}"
    )


def _wide(s: State, value: str, type_: str) -> str:
    if BITS[type_] == 64:
        return value
    return s.op(f"zext <32 x {type_}> {value} to <32 x i64>")


def _alive(s: State) -> str:
    """Lanes that have not ended: the active ones and those that wait elsewhere."""
    mask = s.mask
    pending = s.flow.pending[s.number]
    for number in range(len(s.program.blocks)):
        if pending >> number & 1:
            mask = s.op(f"or i32 {mask}, {s.op(f'load i32, ptr %p{number}')}")
    return mask
