"""Reasons for which lowered code ends a run, and the size of a thread's stack."""

from __future__ import annotations

STACK_BYTES = 1 << 16
"""Bytes of a thread's stack. A GPU gives 1 KiB unless the host asks for more, at most 512 KiB
(CUDA C++ Programming Guide, technical specifications)."""
OVERFLOW = "stack"
"""Trap reason: the thread's stack is full."""
NO_FUNCTION = "call"
"""Trap reason: a call through a pointer that is no function of its type."""
