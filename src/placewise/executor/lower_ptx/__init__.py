"""PTX lowered to the warp IR, one file per family of instructions."""

from placewise.executor.lower_ptx.program import lower_ptx

__all__ = ["lower_ptx"]
