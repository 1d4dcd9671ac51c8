"""Kernels executed on the CPU: outputs, counts and the access trace."""

from placewise.executor.device_memory.device_array import DeviceArray, DevicePointer
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.one_launch import execute
from placewise.executor.result import Execution
from placewise.executor.runtime.run import CHECKED_LIMIT, DEFAULT_LIMIT, TRACE_SPACES
from placewise.executor.stratified_blocks import BlockCounts, Estimate, SampledBlocks, sample_blocks
from placewise.executor.trace import (
    CompiledConsumer,
    Site,
    Taker,
    TraceChunk,
    TraceConsumer,
    lane_offsets,
)

__all__ = [
    "CHECKED_LIMIT",
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
