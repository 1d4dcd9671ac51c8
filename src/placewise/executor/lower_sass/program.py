"""Lowers a kernel's machine code to a program of the warp IR."""

from __future__ import annotations

from pathlib import PurePath

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.address_space import address, function_address
from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Program
from placewise.executor.lower_sass.context import Context
from placewise.executor.lower_sass.control.control import Control
from placewise.executor.lower_sass.control.subroutines import Subroutines
from placewise.executor.lower_sass.memory.constant_banks import Banks
from placewise.executor.lower_sass.memory.texture import SAMPLING, Shapes, shapes_of
from placewise.executor.lowering.module_variables import module_variables
from placewise.executor.lowering.traps import STACK_BYTES
from placewise.kernel.binary.cubin import CubinKernel, read_cubin
from placewise.kernel.binary.machine_code import listing_of
from placewise.kernel.binary.sass import Listing
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import Module

COVERED = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)
"""Targets (compute capability times ten) whose machine code is covered."""
_LOCAL_ALIGN = 16


def lower_machine_code(kernel: Kernel, module: Module, first_window: int) -> Program:
    """Lower the machine code of ``kernel``, whose PTX is ``module``.

    The module's variables lie in windows from ``first_window`` on, as for the PTX. Raises
    UnsupportedError for the first instruction that is not covered, or where there is none.
    """
    if kernel.cubin is None:
        raise UnsupportedError("this kernel has no machine code", where=kernel.filename)
    facts = read_cubin(kernel.cubin, kernel.entry)
    listing = listing_of(kernel.cubin, kernel.entry)
    symbols = {v.name: address(first_window + n) for n, v in enumerate(module_variables(module))}
    # Only these functions are parsed: parsing a long body takes a tenth of a second.
    pointers = {
        name: function_address(module.functions[name].line, module.checksum)
        for name in sorted(module.taken)
        if name in module.functions
    }
    samples = any(i.parts[0] in SAMPLING for i in listing.instructions)
    shapes = shapes_of(module) if samples else {}
    return lower_sass(listing, facts, symbols, pointers, module.files, kernel.filename, shapes)


def lower_sass(
    listing: Listing,
    facts: CubinKernel,
    symbols: dict[str, int],
    pointers: dict[str, int],
    files: dict[int, str],
    filename: str,
    shapes: Shapes,
) -> Program:
    """Lower a kernel's machine code.

    ``symbols`` are the addresses of the module's variables, ``pointers`` those of the functions
    that pointers may hold, ``files`` the source files by the numbers that places use, ``shapes``
    those of the textures that the PTX samples. Raises UnsupportedError for the first instruction
    that is not covered.
    """
    if facts.target not in COVERED:
        known = ", ".join(f"sm_{t}" for t in COVERED)
        raise UnsupportedError(
            f"machine code for sm_{facts.target} is not executed",
            where=filename,
            hint=f"that for {known} is; PTX runs for every target",
        )
    subroutines = Subroutines(facts, listing.instructions, pointers)
    # A recursive kernel has no stack bound in its cubin; ptxas 12.9 writes 0.
    stack = STACK_BYTES if subroutines.recursive else facts.stack_bytes
    if stack is None:
        raise UnsupportedError("machine code whose stack has no known bound", where=filename)
    local_bytes = -(-stack // _LOCAL_ALIGN) * _LOCAL_ALIGN
    builder = Builder()
    banks = Banks(facts, symbols, subroutines.pointed, local_bytes)
    context = Context(builder, banks, filename, facts.target)
    context.shapes = shapes
    context.shared_base = facts.shared_base
    numbers = _numbers(listing, files)
    context.names = {name: files[number] for name, number in numbers.items()}
    Control(context, listing, facts, numbers, subroutines).run()
    return Program(
        name=facts.entry,
        blocks=builder.blocks,
        regs=list(builder.regs.values()),
        accesses=builder.accesses,
        shared_bytes=facts.static_shared_bytes,
        shared_base=facts.shared_base,
        local_bytes=local_bytes,
        tables=bytes(banks.tables),
        guards=builder.guards,
    )


def _numbers(listing: Listing, files: dict[int, str]) -> dict[str, int]:
    """Number of each source file that the listing names; its path may differ from the PTX's."""
    by_name = {name: number for number, name in files.items()}
    by_last = {PurePath(name).name: number for number, name in files.items()}
    found: dict[str, int] = {}
    for name in {i.place[0] for i in listing.instructions if i.place}:
        number = by_name.get(name, by_last.get(PurePath(name).name))
        if number is not None:
            found[name] = number
    return found
