"""Reasons for which lowered code ends a run, and the size of a thread's stack."""

from __future__ import annotations

STACK_BYTES = 1 << 16
"""Stack of a thread. A device has 1 KiB unless the host asks for more, and 512 KiB at most (CUDA
C++ Programming Guide, technical specifications); host code is not seen here."""
OVERFLOW = "stack"
"""Reason of the trap for a stack that is full."""
NO_FUNCTION = "call"
"""Reason of the trap for a call through a pointer to no function of this type."""
