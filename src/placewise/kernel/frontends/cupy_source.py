"""What CuPy's ``RawKernel`` and ``RawModule`` objects hold: CUDA C++ and its options.

Only their attributes are read, so neither a GPU nor CuPy's compiler is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc_options import parse_options


@dataclass(frozen=True)
class CupySource:
    """What a CuPy object says of its kernels."""

    source: str
    options: CompileOptions
    name: str | None
    """Name of a ``RawKernel``'s kernel; None for a ``RawModule``."""
    expressions: tuple[str, ...]
    """Name expressions of a module."""


def cupy_source(raw: Any, *, arch: str = "sm_80") -> CupySource:
    """Source, options and names of kernels of a CuPy ``RawKernel`` or ``RawModule``.

    Raises CaseError where ``raw`` is no such object or has an option that is not covered, and
    UnsupportedError for a module loaded from a file of machine code.
    """
    kind = type(raw).__name__
    if not is_cupy(raw):
        raise CaseError(
            f"a {kind} is neither a RawKernel nor a RawModule of CuPy",
            where="cupy",
            hint="ElementwiseKernel and ReductionKernel hold no kernel of their own",
        )
    if not raw.code:
        raise UnsupportedError(
            f"a {kind} made from a file ({raw.file_path}) has no source",
            where="cupy",
            hint="load PTX files with ptx_kernel",
        )
    options = parse_options(tuple(raw.options or ()), arch=arch, where=f"cupy: {kind}.options")
    options = replace(options, include_paths=(*options.include_paths, *_own_headers(raw)))
    expressions = tuple(getattr(raw, "name_expressions", None) or ())
    return CupySource(str(raw.code), options, getattr(raw, "name", None), expressions)


def is_cupy(thing: object) -> bool:
    """Whether ``thing`` has what a ``RawKernel`` or ``RawModule`` has."""
    return all(hasattr(thing, a) for a in ("code", "options", "file_path", "backend"))


def _own_headers(raw: Any) -> tuple[Path, ...]:
    """CuPy's headers such as ``cupy/complex.cuh``, where the object is CuPy's."""
    package = type(raw).__module__.partition(".")[0]
    found = find_spec(package) if package == "cupy" else None
    if found is None or found.origin is None:
        return ()
    folder = Path(found.origin).parent / "_core" / "include"
    return (folder,) if folder.is_dir() else ()
