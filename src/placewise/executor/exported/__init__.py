"""Traces of executed machine code as files that other programs read."""

from placewise.executor.exported.accel_sim import write_accel_sim
from placewise.executor.exported.accesses import write_accesses
from placewise.executor.exported.warp_trace import BlockTrace, array_places, block_traces

__all__ = ["BlockTrace", "array_places", "block_traces", "write_accel_sim", "write_accesses"]
