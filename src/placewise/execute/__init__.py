"""Kernels executed on the CPU: outputs, counts and the access trace."""

from placewise.execute.device_memory.device_array import DeviceArray, DevicePointer
from placewise.execute.device_memory.device_memory import DeviceMemory
from placewise.execute.one_launch import execute
from placewise.execute.result import Execution
from placewise.execute.runtime.run import DEFAULT_LIMIT, TRACE_SPACES
from placewise.execute.stratified_blocks import BlockCounts, Estimate, SampledBlocks, sample_blocks
from placewise.execute.trace import (
    CompiledConsumer,
    Site,
    Taker,
    TraceChunk,
    TraceConsumer,
    lane_offsets,
)

__all__ = [
    "DEFAULT_LIMIT",
    "TRACE_SPACES",
    "BlockCounts",
    "CompiledConsumer",
    "DeviceArray",
    "DeviceMemory",
    "DevicePointer",
    "Estimate",
    "Execution",
    "SampledBlocks",
    "Site",
    "Taker",
    "TraceChunk",
    "TraceConsumer",
    "execute",
    "lane_offsets",
    "sample_blocks",
]
