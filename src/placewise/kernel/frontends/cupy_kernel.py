"""Kernels of CuPy's ``RawKernel`` and ``RawModule`` objects."""

from __future__ import annotations

from typing import Any

from placewise.errors import CaseError
from placewise.kernel.frontends.cupy_source import cupy_source
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.kernel import Kernel

_FILENAME = "<cupy>"


def cupy_kernel(raw: Any, name: str | None = None, *, arch: str = "sm_80") -> Kernel:
    """The kernel of a ``RawKernel``, or the kernel ``name`` of a ``RawModule``.

    Kernels of one module share its PTX and so its variables in device memory. Raises CaseError for
    what is no such object, has no such kernel or an option that is not covered, CompileError as of
    :func:`compile_kernel`, UnsupportedError for a module loaded from a file of machine code.
    """
    found = cupy_source(raw, arch=arch)
    wanted = found.name or name
    if wanted is None:
        known = ", ".join(found.expressions)
        raise CaseError(
            "a RawModule has several kernels, and none is named",
            where="cupy",
            hint=f"name expressions: {known}" if known else "give the kernel's name",
        )
    names = tuple(dict.fromkeys((*found.expressions, wanted)))
    kernels = compile_module(found.source, _FILENAME, names, found.options)
    return next(k for k in kernels if k.name == wanted)
