"""Machine code (SASS) lowered to the warp IR, one file per family of instructions."""

from placewise.executor.lower_sass.program import lower_machine_code

__all__ = ["lower_machine_code"]
