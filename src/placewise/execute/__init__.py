"""Kernels executed on the CPU: outputs, counts and the access trace."""

from placewise.execute.result import Execution
from placewise.execute.run import DEFAULT_LIMIT, TRACE_SPACES, execute
from placewise.execute.trace import Site, TraceChunk, TraceConsumer

__all__ = [
    "DEFAULT_LIMIT",
    "TRACE_SPACES",
    "Execution",
    "Site",
    "TraceChunk",
    "TraceConsumer",
    "execute",
]
