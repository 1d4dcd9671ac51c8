"""A module's variables in device memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from placewise.executor.device_memory.address_space import address
from placewise.executor.device_memory.device import Bytes, Region
from placewise.executor.device_memory.module_memory import initial_content
from placewise.executor.lowering.module_variables import (
    all_variables,
    function_addresses,
    module_variables,
)
from placewise.kernel.ptx.module import Module, Variable


@dataclass(frozen=True, eq=False)
class LoadedModule:
    """Where a module's variables are."""

    first_window: int
    variables: tuple[Variable, ...]
    """All of them, in windows or not."""
    addresses: dict[str, int]
    """Addresses of variables that have windows and of functions, by name in the PTX."""
    regions: dict[str, Region] = field(default_factory=dict)
    """By name in the PTX. A variable that no function uses gets its region when it is asked for."""


def load(module: Module, first_window: int) -> tuple[LoadedModule, list[tuple[Variable, Bytes]]]:
    """The module at its place, and the first content of the variables that have windows there."""
    used = module_variables(module)
    addresses = {v.name: address(first_window + n) for n, v in enumerate(used)}
    addresses |= function_addresses(module)
    contents = [(v, initial_content(v, addresses)) for v in used]
    return LoadedModule(first_window, all_variables(module), addresses), contents
