"""Machine code (SASS): nvdisasm's listing as typed instructions."""

from placewise.kernel.binary.sass.instruction import (
    INSTRUCTION_BYTES,
    Constant,
    Immediate,
    Instruction,
    Listing,
    Memory,
    Name,
    Operand,
    Register,
    is_inverted,
    is_negated,
    unsigned,
)
from placewise.kernel.binary.sass.listing import read_listing

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
    "is_inverted",
    "is_negated",
    "read_listing",
    "unsigned",
]
