"""A parsed PTX module and the name of an entry to a program of the warp IR."""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.execute.device_memory.address_space import address, function_address
from placewise.execute.ir.builder import Builder
from placewise.execute.ir.nodes import Program
from placewise.execute.lower_ptx.context import Context, place_variables
from placewise.execute.lower_ptx.control.function import lower_body
from placewise.execute.lower_ptx.memory.stack import Stack
from placewise.kernel.ptx.module import Module, Variable


def module_variables(module: Module) -> tuple[Variable, ...]:
    """The global and constant variables that have windows, in the order of these."""
    return tuple(v for v in all_variables(module) if v.name in module.used)


def all_variables(module: Module) -> tuple[Variable, ...]:
    """All global and constant variables, such as no function uses among them."""
    return tuple(v for v in module.variables.values() if v.space in ("global", "const"))


def function_addresses(module: Module) -> dict[str, int]:
    """Addresses of the module's functions by name."""
    return {
        name: function_address(line, module.checksum)
        for name, line in module.function_lines.items()
    }


def parameter_offsets(parameters: tuple[Variable, ...]) -> tuple[list[int], int]:
    """Offset of each kernel parameter in the parameter buffer, and the buffer's size."""
    offsets: list[int] = []
    end = 0
    for p in parameters:
        start = -(-end // p.align) * p.align
        offsets.append(start)
        end = start + p.size
    return offsets, end


def shared_variables(module: Module) -> tuple[dict[str, int], int]:
    """Offsets of the shared variables by name in the PTX, and where dynamic shared memory starts.

    The names of dynamic shared memory all stand for its start.
    """
    shared = [v for v in module.variables.values() if v.space == "shared"]
    shared += [v for f in module.functions.values() for v in f.locals if v.space == "shared"]
    static = [v for v in shared if v.size]
    dynamic = [v for v in shared if not v.size]
    offsets, static_end = place_variables(static)
    align = max((v.align for v in dynamic), default=1)
    dynamic_start = -(-static_end // align) * align
    return offsets | {v.name: dynamic_start for v in dynamic}, dynamic_start


def lower_ptx(module: Module, entry: str, filename: str, first_window: int) -> Program:
    """Lower ``entry``, the module's variables in windows from ``first_window`` on.

    Raises UnsupportedError for the first instruction that is not covered.
    """
    if module.functions[entry].cluster > 1:
        raise UnsupportedError("clusters of blocks are not covered", where=filename)
    functions = module.functions.values()
    offsets, dynamic_start = shared_variables(module)
    # One place for each variable, but where a function is active twice in a thread.
    locals_, local_end = place_variables(
        [v for f in functions for v in f.locals if v.space == "local"]
    )
    function = module.functions[entry]
    starts, param_bytes = parameter_offsets(function.parameters)
    parameters: dict[str, int | None] = {
        p.name: start for p, start in zip(function.parameters, starts, strict=True)
    }
    symbols = {v.name: address(first_window + n) for n, v in enumerate(module_variables(module))}
    symbols |= function_addresses(module)
    builder = Builder()
    stack = Stack(builder, local_end)
    context = Context(
        builder, module, function, filename, symbols, offsets, locals_, "", parameters, {}, stack
    )
    lower_body(context, module, entry)
    return Program(
        name=entry,
        blocks=builder.blocks,
        regs=list(builder.regs.values()),
        accesses=builder.accesses,
        shared_bytes=dynamic_start,
        local_bytes=stack.end if stack.used else local_end,
        param_bytes=param_bytes,
        syncs=builder.syncs,
    )
