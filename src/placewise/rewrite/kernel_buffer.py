"""Way 5."""

from __future__ import annotations

from placewise.kernel.source import ArrayUse
from placewise.rewrite.draft import Draft
from placewise.space import MemorySpace


def place_kernel_buffers(draft: Draft, tiled: list[tuple[ArrayUse, MemorySpace]]) -> None:
    pass
