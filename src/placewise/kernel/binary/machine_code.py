"""A kernel's real machine code: its cubin's facts, its instructions, its registers in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from placewise.errors import CaseError, CompileError
from placewise.kernel.binary.cubin import CubinKernel, read_cubin
from placewise.kernel.binary.line_table import source_places
from placewise.kernel.binary.sass import Listing, read_listing
from placewise.kernel.binary.sass.classes import without_padding
from placewise.kernel.binary.sass.instruction import Instruction
from placewise.kernel.binary.sass.live import LiveRegisters, live_registers
from placewise.kernel.binary.sass.printed import printed
from placewise.kernel.kernel import Kernel
from placewise.kernel.toolchain import Spills, disassemble
from placewise.short_repr import ShortRepr

_REMEMBERED = 32
LISTED = ("-c", "-json")
"""What nvdisasm is asked for: the instructions alone, as JSON."""
OLDEST_DISASSEMBLED = 70
"""Oldest target whose machine code is read: Volta's, which nvdisasm reads as Turing's."""


@dataclass(frozen=True, repr=False)
class MachineCode(ShortRepr):
    """Machine code of one kernel for one target."""

    kernel: Kernel
    facts: CubinKernel
    spills: Spills | None
    """As ptxas reported them; None for machine code that came without its report."""
    listing: Listing | None
    """None for targets that nvdisasm does not read."""
    text: Mapping[int, str]
    """Text of each instruction, by offset; empty without a listing."""

    def _in_short(self) -> str:
        return f"{self.kernel.name} for {self.kernel.arch}: {len(self.text)} instructions"

    @cached_property
    def live(self) -> Mapping[int, LiveRegisters]:
        """Registers in use, by offset; empty where nvdisasm does not say, as of cubins of older
        compilers. Asked for, since nvdisasm takes a second run for it."""
        if self.listing is None or self.kernel.cubin is None:
            return {}
        try:
            counts = disassemble(self.kernel.cubin, ("-c", "-lrm", "count"))
        except CompileError:
            return {}
        return live_registers(counts, self.kernel.entry)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Instructions without padding, by offset; none without a listing."""
        return without_padding(self.listing.instructions) if self.listing else ()


@lru_cache(maxsize=_REMEMBERED)
def listing_of(cubin: bytes, entry: str) -> Listing:
    """The instructions of the kernel ``entry`` of a cubin that nvdisasm reads.

    Raises CompileError where it cannot be read, UnsupportedError for an operand of unknown form.
    """
    instructions = disassemble(cubin, LISTED)
    places = source_places(cubin, entry)
    return read_listing(entry, read_cubin(cubin, entry).code, instructions, places)


@lru_cache(maxsize=_REMEMBERED)
def machine_code(kernel: Kernel) -> MachineCode:
    """The machine code of ``kernel``, disassembled.

    Raises CaseError for a kernel without machine code, CompileError where it cannot be read,
    UnsupportedError for an operand of unknown form.
    """
    if kernel.cubin is None:
        raise CaseError(f"kernel '{kernel.name}' has no machine code", where=kernel.filename)
    facts = read_cubin(kernel.cubin, kernel.entry)
    if facts.target < OLDEST_DISASSEMBLED:
        return MachineCode(kernel, facts, kernel.spills, None, {})
    instructions = disassemble(kernel.cubin, LISTED)
    return MachineCode(
        kernel,
        facts,
        kernel.spills,
        listing_of(kernel.cubin, kernel.entry),
        printed(instructions, kernel.entry),
    )
