"""Facts read from a compiled kernel's PTX: which arguments decide about accesses and branches, and
what rules out tuning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from placewise.errors import PlacewiseError
from placewise.executor.translate import parsed
from placewise.kernel.kernel import Kernel
from placewise.kernel.passing import NumbaArray, NumbaScalar
from placewise.kernel.ptx import Instruction, Module
from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.launches.slices import Slices

_COMPILERS_OWN = re.compile(r"^(\$str|__unnamed|__nv_|_ZN\d+_INTERNAL|_ZZ.*__PRETTY|__func__)")
"""Names of variables that the compiler makes, which host code cannot change."""
_HARMLESS = frozenset({"__assertfail"})
"""Functions without a body in the module that a kernel may call."""
_ORDERED = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
_ARRAY_ADDRESS = 4
"""Position of the address among the parameters that Numba makes of one array."""


@dataclass(frozen=True)
class KernelFacts:
    """A compiled kernel and the facts that the runtime needs about it."""

    kernel: Kernel
    deciding: frozenset[int]
    """Arguments (from 0) on which some address or branch depends."""


def facts_of(kernel: Kernel, arrays: frozenset[int]) -> KernelFacts:
    """Read the PTX of ``kernel``; ``arrays`` are the arguments (from 0) that are arrays.

    Raises DoubtError for kernels that cannot be tuned: their results depend on more than their
    arguments, or they do more than write to their arrays.
    """
    module = parsed(kernel)
    _check(module)
    owners, addresses = _owners(kernel, module, arrays)
    slices = Slices(module.functions[kernel.entry], addresses)
    named = frozenset(owners) if slices.calls else slices.deciding()
    return KernelFacts(kernel, frozenset(owners[name] for name in named if name in owners))


def check_read_only_loads(made: Kernel, arrays: frozenset[int]) -> None:
    """Prove that ``made`` never writes to data that it loads through the read-only cache
    (``ld.global.nc``): the address of each such load comes from arrays that no store or atomic
    accesses.

    Raises DoubtError where this cannot be proven.
    """
    module = parsed(made)
    _, addresses = _owners(made, module, arrays)
    slices = Slices(module.functions[made.entry], addresses)
    loads = [i for i in slices.instructions if i.parts[0] == "ld" and "nc" in i.parts]
    if not loads:
        return
    if slices.calls:
        raise DoubtError("it calls functions, so its loads cannot be proven to be read-only")
    written = set[str]()
    for write, found in _stores(slices):
        if not found:
            raise DoubtError(f"it writes through an unknown address (PTX line {write.line})")
        written |= found
    for load in loads:
        found = slices.arrays_at(load)
        if not found or found & written:
            raise DoubtError(f"the kernel might write to data that PTX line {load.line} loads")


def written_parameters(made: Kernel, arrays: frozenset[int]) -> frozenset[int]:
    """Parameters (from 0) among ``arrays`` that ``made`` may write to; all of them where the
    address of some store cannot be traced back."""
    module = parsed(made)
    owners, addresses = _owners(made, module, arrays)
    slices = Slices(module.functions[made.entry], addresses)
    if slices.calls:
        return arrays
    found = set[str]()
    for _, reached in _stores(slices):
        if not reached:
            return arrays
        found |= reached
    return frozenset(owners[name] for name in found)


def _stores(slices: Slices) -> Iterator[tuple[Instruction, frozenset[str]]]:
    """Writes to memory that other kernels see, each with the parameters of the arrays that its
    address comes from; none of these where the address cannot be traced back."""
    for write in slices.writes():
        if not {"shared", "local"} & set(write.parts):
            yield write, slices.arrays_at(write)


def _check(module: Module) -> None:
    """Raise DoubtError where a kernel's results may depend on more than its arguments."""
    unknown = sorted(module.declared - _HARMLESS - set(module.functions))
    if unknown:
        raise DoubtError(f"it calls {', '.join(unknown)}, which may change more than its arrays")
    for name in sorted(module.used):
        variable = module.variables.get(name)
        if variable is None or variable.space == "shared" or _COMPILERS_OWN.match(name):
            continue
        raise DoubtError(f"its module has the variable {name}, which other code may change")
    for function in module.functions.values():
        if function.cluster > 1:
            raise DoubtError("its blocks form clusters")
        slices = Slices(function, frozenset())
        for instruction in slices.instructions:
            ordered = _ORDERED & set(instruction.parts)
            is_access = instruction.parts[0] in ("ld", "st")
            if ordered and is_access and "shared" not in instruction.parts:
                what = f"{instruction.opcode} in PTX line {instruction.line}"
                raise DoubtError(f"it orders its accesses with those of other threads ({what})")


def _owners(
    kernel: Kernel, module: Module, arrays: frozenset[int]
) -> tuple[dict[str, int], frozenset[str]]:
    """The argument that each parameter belongs to, and the parameters with arrays' addresses."""
    names = [p.name for p in module.parameters]
    if kernel.passing is None:
        owners = {name: n for n, name in enumerate(names)}
        return owners, frozenset(name for name, n in owners.items() if n in arrays)
    owners, addresses, at = {}, set(), 0
    for n, how in enumerate(kernel.passing):
        if isinstance(how, NumbaArray):
            taken = 5 + 2 * how.dimensions
            addresses.add(names[at + _ARRAY_ADDRESS])
        else:
            taken = 2 if isinstance(how, NumbaScalar) and how.dtype.startswith("complex") else 1
        owners.update(dict.fromkeys(names[at : at + taken], n))
        at += taken
    if at != len(names):
        raise PlacewiseError(f"{len(names)} parameters, but the arguments make {at}")
    return owners, frozenset(addresses)
