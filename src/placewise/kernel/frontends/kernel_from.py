"""One function that takes kernels of every kind: CUDA C++, PTX, Numba and CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from placewise.errors import CaseError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.cases.make_case import is_ptx, no_kernel, read_source
from placewise.kernel.frontends.cupy_kernel import cupy_kernel
from placewise.kernel.frontends.cupy_source import is_cupy
from placewise.kernel.frontends.numba_kernel import numba_kernel
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.frontends.ptx_kernel import ptx_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.source_name import text_name


def kernel_from(
    thing: Any,
    name: str | None = None,
    *,
    arguments: Sequence[Any] | None = None,
    options: CompileOptions | None = None,
) -> Kernel:
    """The kernel of ``thing``, which is one of

    - a path or text of CUDA C++, with the kernel's ``name`` (``"scale<float>"`` for an instance of
      a template);
    - a path ending in ``.ptx`` or text of PTX, with ``name`` where it holds several kernels;
    - a Numba function, with the ``arguments`` (or their Numba types) that it is compiled for;
    - a CuPy ``RawKernel``, or a ``RawModule`` with the kernel's ``name``.

    All ``options`` count for CUDA C++, only the architecture for the others; PTX is compiled for
    its own target if they are left out. Raises CaseError for anything else, and what each front end
    raises.
    """
    # PTX has a target of its own.
    own = options.arch if options else None
    options = options or CompileOptions()
    if isinstance(thing, str | Path):
        if is_ptx(thing):
            return ptx_kernel(thing, name, arch=own, nvrtc=options.nvrtc)
        if name is None:
            raise CaseError("the kernel's name is missing", where="name")
        text, path = read_source(thing)
        return compile_kernel(text, str(path or text_name(name)), name, options)
    if is_cupy(thing):
        return cupy_kernel(thing, name, arch=options.arch)
    if isinstance(thing, FunctionType) or hasattr(thing, "py_func"):
        if arguments is None:
            raise CaseError(
                "a Numba function is compiled for the types of its arguments",
                where="arguments",
                hint="give the arguments of the launch, or Numba types",
            )
        return numba_kernel(thing, arguments, arch=options.arch)
    raise no_kernel(thing, "kernel")
