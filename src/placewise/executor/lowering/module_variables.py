"""Where a module's variables, functions and kernel parameters lie."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.executor.device_memory.address_space import function_address
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


def place_variables(variables: Sequence[Variable]) -> tuple[dict[str, int], int]:
    """Offsets of variables one after another, and where they end."""
    offsets: dict[str, int] = {}
    end = 0
    for v in variables:
        at = -(-end // v.align) * v.align
        offsets[v.name] = at
        end = at + v.size
    return offsets, end
