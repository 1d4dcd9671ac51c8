"""Machine code (SASS): nvdisasm's listing as typed instructions."""

from placewise.kernel.sass.instruction import (
    INSTRUCTION_BYTES,
    Constant,
    Immediate,
    Instruction,
    Listing,
    Memory,
    Name,
    Operand,
    Register,
)
from placewise.kernel.sass.listing import read_listing

__all__ = [
    "INSTRUCTION_BYTES",
    "Constant",
    "Immediate",
    "Instruction",
    "Listing",
    "Memory",
    "Name",
    "Operand",
    "Register",
    "read_listing",
]
