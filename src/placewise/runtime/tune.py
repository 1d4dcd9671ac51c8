""":func:`placewise.tune`, which turns a kernel into one that places its arrays by itself."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

from placewise.advisor.finalists import DEMAND, Demand
from placewise.disk_cache import DiskCache
from placewise.errors import CaseError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.cases.make_case import is_ptx, read_source
from placewise.kernel.frontends.cupy_source import cupy_source, is_cupy
from placewise.machine import Machine, load_machine
from placewise.runtime.choice import Kept
from placewise.runtime.devices.places import Places
from placewise.runtime.originals import CudaSource, NumbaFunction
from placewise.runtime.tuned import (
    Tuned,
    TunedCore,
    TunedNumba,
    TunedRaw,
    TunedSource,
    is_cuda_core,
)
from placewise.runtime.tuner import ProfileFunction, Settings, Tuner

KEPT_CHOICES = 4000
"""Most choices on disk, some kilobytes each; those unused for longest are deleted first."""


# Public and keyword-only: one parameter for each part of a kernel and each option.
def tune(
    kernel: Any,
    name: str | None = None,
    *,
    machine: Machine | str | Path | None = None,
    source: str | Path | None = None,
    options: CompileOptions | None = None,
    demand: Demand = DEMAND,
    layouts: bool = False,
    patience: float = 60.0,
    choices: int = 16,
    cache: Path | None = None,
    profile: ProfileFunction | None = None,
) -> Tuned:
    """A callable that launches ``kernel`` and finds out by itself where its arrays should live.

    ``kernel`` may be one of these; the result is launched like the original:

    - a CuPy ``RawKernel``: ``tuned(grid, block, args, shared_mem=0)``; a ``RawModule`` with the
      kernel's ``name`` is launched the same way;
    - a Numba ``@cuda.jit`` function: ``tuned[grid, block, stream, shared](*args)``;
    - a ``cuda.core`` ``Kernel``, with its ``source`` and ``name``, since the object does not hold
      them: ``tuned(stream, config, *args)``, where ``args`` are arrays and numbers;
    - a path or text of CUDA C++ with the kernel's ``name`` and compiler ``options``:
      ``tuned(grid, block, args, shared_mem=0)``.

    The first launch of a class (grid, block, shapes, types, and scalars that decide about accesses
    or branches) runs the original and is profiled on the executor. The best version, if one meets
    the ``demand``, is compiled and compared with the original, bit for bit. Later launches run that
    version; the 4th, 16th, 64th … are compared again. Whenever something is not certain the
    original runs, and :meth:`Tuned.report` says why.

    ``machine`` is the GPU to choose for, by default the one that the arrays are on. Kernels on
    NumPy arrays run on the executor, and then ``machine`` is required. Choosing takes at most
    ``patience`` seconds for a class, of which there are at most ``choices``. Choices are kept in
    the folder ``cache``, by default the user's cache folder. With ``layouts`` arrays of structs may
    also be converted to another layout before each launch, and back.

    ``profile`` records a launch's accesses in place of a traced run: ``profile(grid, block, args)``
    gets the arguments on the host, arrays read-only, and returns columns ``thread`` (number in the
    launch), ``array`` (number of the argument, from 0, or the parameter's name), ``element``,
    ``write`` and, if known, ``line``, each (n,), the accesses of a thread in their order. Threads
    of some whole blocks are enough. Versions are proven and compared as without it.

    Raises CaseError where ``kernel`` is none of these, and MachineError for an unknown machine.
    """
    folder = DiskCache("tuned", files=KEPT_CHOICES, place=cache)
    settings = Settings(demand, patience, choices, Kept(folder), layouts, profile)
    chosen = None if machine is None else load_machine(machine)
    places = Places(chosen)

    def tuner(original: CudaSource | NumbaFunction) -> Tuner:
        return Tuner(original, places.of, settings)

    if is_cupy(kernel):
        found = cupy_source(kernel)
        wanted = found.name or _named(name)
        original = CudaSource(wanted, found.source, None, found.options)
        return TunedRaw(kernel, wanted, tuner(original), chosen)
    if isinstance(kernel, FunctionType) or hasattr(kernel, "py_func"):
        return TunedNumba(kernel, tuner(NumbaFunction(kernel)), chosen)
    options = options or CompileOptions()
    if is_cuda_core(kernel):
        if source is None:
            raise CaseError(
                f"a {type(kernel).__name__} of cuda.core does not hold its source",
                where="source",
                hint="pass source= (CUDA C++) and the kernel's name",
            )
        text, path = _cuda(source)
        return TunedCore(kernel, tuner(CudaSource(_named(name), text, path, options)), chosen)
    if isinstance(kernel, str | Path):
        text, path = _cuda(kernel)
        return TunedSource(tuner(CudaSource(_named(name), text, path, options)), chosen)
    raise CaseError(
        f"this {type(kernel).__name__} is not a kernel",
        where="kernel",
        hint="give CuPy's RawKernel, a Numba function, a kernel of cuda.core, or CUDA C++",
    )


def _named(name: str | None) -> str:
    if name is None:
        raise CaseError("the kernel's name is missing", where="name")
    return name


def _cuda(source: str | Path) -> tuple[str, Path | None]:
    text, path = read_source(source)
    if is_ptx(path or text):
        raise CaseError("PTX is not tuned", where="source", hint="give the CUDA C++")
    return text, path
