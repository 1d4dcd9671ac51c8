"""Kernels written in Python for Numba (``@cuda.jit``), compiled without a driver or a GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from placewise.errors import CaseError, CompileError, UnsupportedError
from placewise.kernel.frontends.numba_device import compiling_for
from placewise.kernel.frontends.ptx_kernel import ptx_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.passing import NumbaArray, NumbaScalar, Passing
from placewise.kernel.toolchain import Target

_INSTALL = "pip install 'placewise[numba]'"
_COVERED = ("fastmath", "opt", "launch_bounds", "debug")
"""Options of ``@cuda.jit`` that go to the compiler."""
_UNRESOLVED = re.compile(r"Unresolved extern function '(?P<name>\w+)'")
_REFUSED = ("link", "extensions", "max_registers")


def numba_kernel(function: Any, arguments: Sequence[Any], *, arch: str = "sm_80") -> Kernel:
    """The PTX that Numba makes of ``function`` for these arguments.

    ``function`` is what ``@cuda.jit`` returned, or the Python function itself. ``arguments`` are
    those of a launch, from which Numba infers the types (arrays, device arrays, NumPy or Python
    numbers, a Python int being 64 bits), or Numba types such as ``float32[::1]`` in their place.
    Launches take the same arguments as with Numba; arrays must be contiguous in C order.

    Raises CaseError where Numba is not there or an argument has no type that Numba passes,
    CompileError with Numba's message and the Python line where it refuses the function,
    UnsupportedError for what it links into a kernel only at a launch.
    """
    cuda, types = _numba()
    python = getattr(function, "py_func", function)
    if not isinstance(python, FunctionType):
        raise CaseError(f"{function!r} is no Numba kernel and no Python function", where="numba")
    where = f"{python.__code__.co_filename}:{python.__code__.co_firstlineno}"
    options = _options(function, where)
    signature = tuple(
        _type_of(value, types, f"{where}: argument {n}")
        for n, value in enumerate(arguments, start=1)
    )
    passing = tuple(_passing(t, n, types, where) for n, t in enumerate(signature, start=1))
    capability = divmod(Target(arch).number, 10)
    try:
        with compiling_for(capability):
            ptx, _ = cuda.compile_ptx(
                python,
                signature,
                cc=capability,
                lineinfo=not options.get("debug"),
                **options,
            )
    except Exception as error:  # Numba raises its own, NVVM's and plain Python errors alike.
        raise _refusal(error, where) from error
    try:
        kernel = ptx_kernel(ptx, filename=python.__code__.co_filename, arch=arch)
    except CompileError as error:
        raise _not_linked(error, where) from error
    return replace(kernel, name=python.__name__, passing=passing)


def _numba() -> tuple[Any, Any]:
    try:
        import numba_cuda  # noqa: F401  Numba's own CUDA target needs the CUDA toolkit.
        from numba import config, cuda, types
    except ImportError as error:
        raise CaseError(
            f"Numba's CUDA target cannot be imported: {error}", where="numba", hint=_INSTALL
        ) from error
    if config.ENABLE_CUDASIM:
        raise CaseError(
            "NUMBA_ENABLE_CUDASIM is set, and Numba's simulator compiles nothing",
            where="numba",
            hint="unset it before Python starts",
        )
    return cuda, types


def _options(function: Any, where: str) -> dict[str, Any]:
    given: dict[str, Any] = getattr(function, "targetoptions", {})
    for name in _REFUSED:
        if given.get(name):
            raise UnsupportedError(f"the option {name} of @cuda.jit is not covered", where=where)
    return {name: given[name] for name in _COVERED if given.get(name) is not None}


def _type_of(value: Any, types: Any, where: str) -> Any:
    """Numba's type of a launch's argument, or of a type given in its place."""
    from numba import from_dtype, typeof

    if isinstance(value, types.Type):
        return value
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape and dtype is not None:
        if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            raise CaseError(
                f"the array of shape {shape} is not contiguous in C order",
                where=where,
                hint="pass np.ascontiguousarray(array)",
            )
        try:
            return types.Array(from_dtype(dtype), len(shape), "C")
        except NotImplementedError as error:
            raise CaseError(f"Numba has no arrays of {dtype}", where=where) from error
    try:
        return typeof(value)
    except ValueError as error:
        raise CaseError(
            f"Numba cannot pass a {type(value).__name__}",
            where=where,
            hint="arrays and numbers are passed; other values can be globals of the function",
        ) from error


def _passing(type_: Any, number: int, types: Any, where: str) -> Passing:
    from numba.np.numpy_support import as_dtype

    if isinstance(type_, types.Array):
        if type_.layout != "C":
            raise UnsupportedError(
                f"argument {number}: {type_} is not contiguous in C order",
                where=where,
                hint="write float32[::1] instead of float32[:] for an array in C order",
            )
        return NumbaArray(str(as_dtype(type_.dtype)), type_.ndim)
    if isinstance(type_, types.Number | types.Boolean):
        return NumbaScalar(str(as_dtype(type_)))
    raise UnsupportedError(
        f"argument {number}: values of Numba's type {type_} are not covered",
        where=where,
        hint="arrays and numbers are",
    )


def _not_linked(error: CompileError, where: str) -> CompileError | UnsupportedError:
    """``error``, or what it means where PTX calls a function that Numba links at a launch."""
    found = _UNRESOLVED.search(error.message)
    if found is None:
        return error
    name = found["name"]
    if "6__half" in name or "bfloat16" in name:
        return UnsupportedError(
            "half-precision arithmetic in Numba kernels is not covered",
            where=where,
            hint="convert to np.float32 first; half-precision numbers are loaded and stored",
        )
    return UnsupportedError(
        f"Numba links '{name}' into this kernel at its launch, which is not covered",
        where=where,
        hint="cooperative grids and functions from other files need it",
    )


def _refusal(error: Exception, where: str) -> CompileError:
    """Numba's own message, its first line, which names what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    place = next((x for x in reversed(lines) if x.startswith("File ")), None)
    told = [x for x in lines if not x.startswith(("File ", "Failed in"))]
    message = told[0] if told else type(error).__name__
    if len(told) > 1 and told[1].startswith(">>>"):
        message = f"{message} {told[1].removeprefix('>>>').strip()}"
    if place is not None:
        file, _, number = place.removeprefix("File ").replace('"', "").partition(", line ")
        where = f"{file}:{number.rstrip(':')}"
    return CompileError(f"Numba refuses it: {message}", where=where)
