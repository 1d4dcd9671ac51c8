"""Module variables: ``__constant__`` and ``__device__`` symbols, their names and first contents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.array_sources import check_size
from placewise.kernel.cases.element_types import check_elements
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx.module import Variable
from placewise.kernel.view import constants_of


def plain_name(symbol: str) -> str:
    """A variable's name in the source, from its mangled name (its last component)."""
    if not symbol.startswith("_Z"):
        return symbol
    found = symbol
    position = 0
    while match := re.search(r"(\d+)", symbol[position:]):
        start = position + match.end()
        end = start + int(match[1])
        if end > len(symbol):
            break
        found = symbol[start:end]
        position = end
    return found


def check_type(
    kernel: Kernel, variable: Variable, data: NDArray[Any], where: str, *, is_part: bool
) -> None:
    """Raises CaseError located at ``where`` if ``data``, all of a variable or a part of it, is of
    another type than its source declares.

    Of a kernel without a source, PTX tells the type of single numbers, and how arrays are aligned:
    one of doubles at a multiple of 8 bytes.
    """
    plain = plain_name(variable.name)
    declared = [c for c in constants_of(kernel) if c.name == plain and c.elements is not None]
    if len(declared) == 1:
        elements = declared[0].elements
        if elements is not None and not (is_part and elements.element_dtype is None):
            check_elements(elements, data, where)
        return
    part = np.dtype(f"f{data.dtype.itemsize // 2}") if data.dtype.kind == "c" else data.dtype
    if part.kind not in "iuf":
        return
    kinds = {"f": "f", "u": "iu", "s": "iu"}.get(variable.type[:1])
    bits = variable.type.lstrip("fus")
    wrong = kinds is not None and (part.kind not in kinds or bits != str(8 * part.itemsize))
    if wrong or part.itemsize > variable.align:
        kind = f".{variable.type}" if wrong else f"aligned to {variable.align} bytes"
        raise CaseError(
            f"the kernel's variable is {kind}, the array has {data.dtype}",
            where=where,
            hint="convert the array with .astype(...)",
        )


_NAMES_SHOWN = 12


def find_variable(name: str, variables: Sequence[Variable], where: str) -> Variable:
    """The variable that ``name`` means, as in the PTX or as in the source.

    Raises CaseError located at ``where`` for none or several.
    """
    exact = [v for v in variables if v.name == name]
    plain = name.rsplit("::", 1)[-1]
    fits = exact or [v for v in variables if plain_name(v.name) == plain]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise CaseError(
            f"{len(fits)} variables of the module have this name",
            where=where,
            hint=f"give the name in the PTX: {', '.join(v.name for v in fits)}",
        )
    names = [plain_name(v.name) for v in variables]
    known = ", ".join(names[:_NAMES_SHOWN])
    if len(names) > _NAMES_SHOWN:
        # Headers bring hundreds with them.
        known = ", ".join(get_close_matches(name, names, n=1)) or f"{known} …"
    raise CaseError(
        "the kernel's module has no such variable",
        where=where,
        hint=f"it has: {known}"
        if known
        else "it has no __constant__ or __device__ variables that the kernel uses",
    )


def initial_content(variable: Variable, addresses: Mapping[str, int]) -> NDArray[np.uint8]:
    """(size,) bytes of a variable before the first launch.

    ``addresses`` are those of the module's variables by PTX name, for initial values that are
    addresses; raises UnsupportedError for the address of anything else, and CaseError for a
    variable larger than any array of a case may be.
    """
    if variable.size:
        check_size((variable.size,), np.uint8, f"variable '{plain_name(variable.name)}'")
    content = np.zeros(variable.size, np.uint8)
    if variable.initial:
        content[:] = np.frombuffer(variable.initial, np.uint8)
    for offset, symbol, addend in variable.relocations:
        if symbol not in addresses:
            raise UnsupportedError(f"an initial value that is the address of '{symbol}'")
        value = np.array([addresses[symbol] + addend], np.int64)
        content[offset : offset + 8] = value.view(np.uint8)
    return content
