"""Document of `placewise trace`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


@document
class TraceDocument(TypedDict):
    """What was traced, and the files that hold it: `placewise trace --json`."""

    schema: Literal["placewise-trace"]
    schema_version: Literal[1]
    case: str
    """Name of the case."""
    kernel: str
    """Name of the kernel."""
    arch: str
    """Architecture of the machine code, such as `sm_80`."""
    blocks: int
    """Blocks traced."""
    blocks_of_launch: int
    """Blocks of the launch."""
    warp_instructions: int
    """Instructions of all warps of the traced blocks."""
    accesses: int
    """Accesses of warps to memory among them."""
    files: list[str]
    """Files written."""
