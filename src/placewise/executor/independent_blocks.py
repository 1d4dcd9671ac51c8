"""Whether some blocks of a launch can run without the others."""

from __future__ import annotations

from placewise.executor.device_memory.address_space import FIRST_WINDOW
from placewise.executor.translate import lowered
from placewise.kernel.kernel import Kernel


def blocks_run_alone(kernel: Kernel) -> bool:
    """Whether no thread of ``kernel`` waits in a loop for what another warp writes, so that a few
    blocks come to an end without the others. Raises UnsupportedError for code that is not
    covered."""
    return not lowered(kernel, FIRST_WINDOW).waiting
