"""Where a module's variables, functions and kernel parameters lie."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.executor.device_memory.address_space import function_address
from placewise.kernel.ptx.module import (
    Address,
    Arguments,
    Instruction,
    Module,
    Symbol,
    Variable,
    Vector,
)


def module_variables(module: Module) -> tuple[Variable, ...]:
    """The global and constant variables that some function uses, in the order of their windows."""
    return tuple(v for v in all_variables(module) if v.name in module.used)


def all_variables(module: Module) -> tuple[Variable, ...]:
    """All global and constant variables, used or not."""
    return tuple(v for v in module.variables.values() if v.space in ("global", "const"))


def named_symbols(module: Module) -> frozenset[str]:
    """Variables and functions that instructions of the entry, and of what it calls, name."""
    pending: list[object] = [
        operand
        for function in module.functions.values()
        for item in function.body
        if isinstance(item, Instruction)
        for operand in item.operands
    ]
    found = set()
    while pending:
        operand = pending.pop()
        if isinstance(operand, Symbol):
            found.add(operand.name)
        elif isinstance(operand, Address):
            pending.append(operand.base)
        elif isinstance(operand, Vector | Arguments):
            pending += operand.elements
    return frozenset(found)


def function_addresses(module: Module) -> dict[str, int]:
    """Addresses that function pointers hold, by the function's name."""
    return {
        name: function_address(line, module.checksum)
        for name, line in module.function_lines.items()
    }


def parameter_offsets(parameters: tuple[Variable, ...]) -> tuple[list[int], int]:
    """Byte offset of each kernel parameter in the parameter buffer, and the buffer's size."""
    offsets: list[int] = []
    end = 0
    for p in parameters:
        start = -(-end // p.align) * p.align
        offsets.append(start)
        end = start + p.size
    return offsets, end


def shared_variables(module: Module) -> tuple[dict[str, int], int]:
    """Byte offsets of shared variables by PTX name, and the start of dynamic shared memory.

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


def place_variables(variables: Sequence[Variable]) -> tuple[dict[str, int], int]:
    """Byte offsets of variables laid out one after another, and the end of the last."""
    offsets: dict[str, int] = {}
    end = 0
    for v in variables:
        at = -(-end // v.align) * v.align
        offsets[v.name] = at
        end = at + v.size
    return offsets, end
