"""Special registers (PTX ISA, chapter "Special Registers").

The device that kernels see has one multiprocessor, on which one warp runs at a time; its clocks
advance by one whenever they are read. Every launch counts as a cooperative one, whose grid may
synchronise.
"""

from __future__ import annotations

from placewise.executor.device_memory.address_space import GRID_WINDOW, address
from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Node

_VALUES = frozenset(
    {"%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"}
    | {f"%lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")}
)
_COORDINATES = frozenset({"%tid", "%ntid", "%ctaid", "%nctaid"})
_ZERO = frozenset(
    {"%clusterid", "%cluster_ctaid", "%cluster_ctarank", "%is_explicit_cluster"}
    | {"%current_graph_exec"}
)
"""Registers that are 0, because there are no clusters and no graphs. Performance counters and
the size of reserved shared memory are 0 too."""
_ONE = frozenset({"%nclusterid", "%cluster_nctaid", "%cluster_nctarank"})
_LAUNCH = {"%envreg1": 32, "%envreg2": 0}
"""Halves of the address of the memory by which the blocks of a grid wait for each other, as
cooperative_groups reads it; other words of the environment are 0."""


def special(b: Builder, name: str) -> Node | None:
    """The value of register ``name``, or None if it is not known."""
    head, _, axis = name.partition(".")
    if head in _VALUES:
        return b.pure("special", "i32", attr=head[1:])
    if head in _COORDINATES:
        return b.const("i32", 0) if axis == "w" else b.pure("special", "i32", attr=name[1:])
    if head in _LAUNCH:
        return b.const("i32", address(GRID_WINDOW) >> _LAUNCH[head])
    if head in _ONE:
        return b.const("i32", 0 if axis == "w" else 1)
    if head in _ZERO or head.startswith(("%envreg", "%pm", "%reserved_smem")):
        return b.const("i32", 0)
    if head in ("%clock64", "%globaltimer"):
        return b.effect("special", "i64", attr="clock")
    if head in ("%clock", "%globaltimer_lo"):
        return b.resize(b.effect("special", "i64", attr="clock"), "i32")
    if head in ("%clock_hi", "%globaltimer_hi"):
        clock = b.effect("special", "i64", attr="clock")
        return b.resize(b.pure("lshr", "i64", clock, b.const("i64", 32)), "i32")
    if head == "%dynamic_smem_size":
        return b.pure("special", "i32", attr="dynamic_shared")
    if head in ("%total_smem_size", "%aggr_smem_size"):
        return b.pure("special", "i32", attr="total_shared")
    return None
