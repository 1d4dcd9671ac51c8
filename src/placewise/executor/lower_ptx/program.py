"""Lowers an entry of a parsed PTX module to a program of the warp IR."""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.address_space import address
from placewise.executor.ir.builder import Builder
from placewise.executor.ir.nodes import Program
from placewise.executor.lower_ptx.context import Context, ModuleScope
from placewise.executor.lower_ptx.control.function import lower_body
from placewise.executor.lower_ptx.memory.stack import Stack
from placewise.executor.lowering.module_variables import (
    function_addresses,
    module_variables,
    parameter_offsets,
    place_variables,
    shared_variables,
)
from placewise.kernel.ptx.module import Module


def lower_ptx(module: Module, entry: str, filename: str, first_window: int) -> Program:
    """Lower ``entry``, the module's variables in windows from ``first_window`` on.

    Raises UnsupportedError for the first instruction that is not covered.
    """
    if module.functions[entry].cluster > 1:
        raise UnsupportedError("clusters of blocks are not covered", where=filename)
    functions = module.functions.values()
    offsets, dynamic_start = shared_variables(module)
    # Each variable has one fixed offset, except in recursive functions, which use the stack.
    locals_, local_end = place_variables(
        [v for f in functions for v in f.locals if v.space == "local"]
    )
    function = module.functions[entry]
    starts, _ = parameter_offsets(function.parameters)
    parameters: dict[str, int | None] = {
        p.name: start for p, start in zip(function.parameters, starts, strict=True)
    }
    symbols = {v.name: address(first_window + n) for n, v in enumerate(module_variables(module))}
    symbols |= function_addresses(module)
    builder = Builder()
    stack = Stack(builder, local_end)
    scope = ModuleScope(module, filename, symbols, offsets, locals_, stack)
    context = Context(builder, scope, function, parameters)
    lower_body(context, module, entry)
    return Program(
        name=entry,
        blocks=builder.blocks,
        regs=list(builder.regs.values()),
        accesses=builder.accesses,
        shared_bytes=dynamic_start,
        local_bytes=stack.end if stack.used else local_end,
        syncs=builder.syncs,
    )
