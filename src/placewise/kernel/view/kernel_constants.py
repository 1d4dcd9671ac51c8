"""The ``__constant__`` variables that a compiled kernel's source declares."""

from __future__ import annotations

import functools
from pathlib import Path

from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Case, CompileOptions
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.kernel.source import DeclaredConstant
from placewise.kernel.view.tree.clang import parse_signature

_KEPT = 64
"""Most kernels whose constants are remembered."""


def constants_of(kernel: Kernel) -> tuple[DeclaredConstant, ...]:
    """The ``__constant__`` variables of the files that ``kernel`` was compiled from; none where its
    source is no CUDA C++, or cannot be read."""
    if kernel.origin is None:
        return ()
    return _declared(*kernel.origin, kernel.filename, kernel.name)


@functools.lru_cache(_KEPT)
def _declared(
    source: str, options: CompileOptions, filename: str, kernel: str
) -> tuple[DeclaredConstant, ...]:
    any_launch = Launch((1, 1, 1), (1, 1, 1))
    case = Case(kernel, source, Path(filename), kernel, any_launch, Inputs(()), options)
    try:
        return parse_signature(case).constants
    except PlacewiseError:
        return ()
