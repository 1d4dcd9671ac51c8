"""A compiled kernel: PTX of one entry, ready to execute, tied to its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from placewise.kernel.passing import Passing
from placewise.kernel.toolchain import Spills
from placewise.short_repr import ShortRepr

if TYPE_CHECKING:
    from placewise.kernel.cases.case import CompileOptions


@dataclass(frozen=True, repr=False)
class Kernel(ShortRepr):
    """One entry point of a PTX module, as the compiler made it."""

    name: str
    """Name as the user wrote it."""
    entry: str
    """Mangled name of the PTX entry."""
    ptx: str
    """Text of the whole PTX module."""
    arch: str
    filename: str
    """Source file name, for messages."""
    registers: int | None = None
    """Registers per thread on ``arch``, from the cubin; None where there is no machine code."""
    static_shared_bytes: int = 0
    cubin: bytes | None = None
    """Machine code of the module for ``arch``; None where there is none."""
    compiler: str | None = None
    """Version of the compiler that made the machine code, such as ``13.5``."""
    spills: Spills | None = None
    """Local memory traffic of spilled registers, as the compiler reported it; None where it did
    not."""
    machine_code: bool = False
    """Whether runs execute the machine code in place of the PTX."""
    passing: tuple[Passing, ...] | None = None
    """What each argument of a launch becomes, where a front end turns it into several parameters
    (Numba); None where every argument is a parameter."""
    origin: tuple[str, CompileOptions] | None = field(default=None, repr=False, compare=False)
    """The CUDA C++ and the options that it was compiled from; None for a kernel of another
    language."""

    @property
    def spills_registers(self) -> bool:
        """Whether the compiler reported registers that did not fit and went to local memory."""
        return self.spills is not None and self.spills.store_bytes + self.spills.load_bytes > 0

    def _in_short(self) -> str:
        registers = "" if self.registers is None else f", {self.registers} registers a thread"
        return f"{self.name} for {self.arch}{registers}"
