"""Cases from Python: NumPy arrays and scalars, as users of Kernel Tuner pass them."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case, CompileOptions, Language, define_pairs
from placewise.kernel.cases.values import (
    POINTER,
    PointerTo,
    Struct,
    Uninitialised,
    pointer_table,
    struct_array,
)
from placewise.kernel.frontends.cupy_source import cupy_source, is_cupy
from placewise.kernel.frontends.nvrtc_options import parse_options
from placewise.kernel.frontends.source_file import source_text
from placewise.kernel.launch import (
    Argument,
    ArrayArgument,
    Dim3,
    Inputs,
    Launch,
    ScalarArgument,
    StoredPointer,
    SurfaceArgument,
    TextureArgument,
)
from placewise.kernel.source_name import plain_name
from placewise.kernel.toolchain import DEFAULT_NVRTC, Target

_PTX_TARGET = re.compile(r"^\s*\.target\s+(sm_\d+[af]?)\b", re.M)

Extent = int | Sequence[int]
Value = (
    np.ndarray[Any, Any]
    | np.generic
    | PointerTo
    | Struct
    | Uninitialised
    | TextureArgument
    | SurfaceArgument
    | Sequence[PointerTo | None]
    | Sequence[Struct]
    | None
)
"""An array, a scalar, or what :mod:`placewise.kernel.cases.values` has for it; lists of pointers
and of structs are arrays of them, None is a null pointer."""


# Public and keyword-only: one parameter for each part of a case.
def make_case(
    kernel: str,
    source: Any,
    arguments: Sequence[Value] | Mapping[str, Value],
    *,
    block: Extent,
    grid: Extent | None = None,
    problem: Extent | None = None,
    per_block: Extent | None = None,
    shared_bytes: int = 0,
    defines: Mapping[str, object] | None = None,
    include_paths: Sequence[str | Path] = (),
    std: str | None = None,
    arch: str | None = None,
    nvrtc: str = DEFAULT_NVRTC,
    constants: Mapping[str, Value] | None = None,
    buffers: Mapping[str, Value] | None = None,
    flags: Sequence[str] = (),
    name: str | None = None,
    description: str = "",
) -> Case:
    """One launch of ``kernel`` with these inputs.

    ``source`` is CUDA C++ or PTX (as text if it has a line break or a brace, else as a path, which
    ends in ``.ptx`` for PTX), a Numba function, or a ``RawKernel`` or ``RawModule`` of CuPy,
    whose own options come first. ``arguments`` are arrays (C-contiguous, passed by pointer) and
    NumPy scalars, in parameter order or by parameter name; PTX has no such names, there a dict goes
    in its order and its names are those of the results. Give ``grid`` in blocks, or ``problem``
    in elements: the grid is then ceil(problem / per_block), where a block covers ``block`` elements
    unless ``per_block`` says otherwise. ``constants`` fills ``__constant__`` symbols. ``buffers``
    are arrays that are no arguments, for :class:`PointerTo` to point to. ``flags`` are further
    options of NVRTC, ``nvrtc`` its version; Numba functions have no use for ``flags``, ``defines``,
    ``include_paths`` and ``std``. Extents are an int or up to three, x first; ``shared_bytes`` is
    dynamic shared memory.

    The arrays are not copied; through the case they can only be read. Raises CaseError.
    """
    code = _code(source)
    text, path = code.text, code.path
    if code.language is Language.NUMBA:
        _check_numba(flags=flags, defines=defines, include_paths=include_paths, std=std)
        arguments = _in_order(code.function, arguments)
    block_dims = dims("block", block)
    options = CompileOptions(
        arch=_default_arch(code) if arch is None else arch,
        defines=(*code.options.defines, *define_pairs(defines)),
        include_paths=(*code.options.include_paths, *(Path(p) for p in include_paths)),
        std=std or code.options.std,
        nvrtc=nvrtc,
        flags=(*code.options.flags, *parse_options(flags, arch="", where="flags").flags),
    )
    return Case(
        name=name or (path.stem if path else plain_name(kernel)),
        source=text,
        path=path,
        kernel=kernel,
        launch=Launch(_grid(grid, problem, per_block, block_dims), block_dims, shared_bytes),
        inputs=_inputs(arguments, constants or {}, buffers or {}),
        options=options,
        description=description,
        language=code.language,
        function=code.function,
    )


def _default_arch(code: _Code) -> str:
    """The target where none is asked for: the default one, or that of PTX for a newer one."""
    found = _PTX_TARGET.search(code.text) if code.language is Language.PTX else None
    if found is not None and Target(found[1]).number > Target(CompileOptions.arch).number:
        return found[1]
    return CompileOptions.arch


def dims(what: str, extent: Extent) -> Dim3:
    """Three dimensions from one to three; raises CaseError located at ``launch.<what>``."""
    given = tuple(extent) if isinstance(extent, Iterable) else (extent,)
    if not 1 <= len(given) <= 3 or not all(isinstance(d, int | np.integer) for d in given):
        is_fraction = any(isinstance(d, float | np.floating) for d in given)
        raise CaseError(
            f"{extent!r} is not one to three whole numbers",
            where=f"launch.{what}",
            hint="divide with //, or round up with -(-n // block)" if is_fraction else None,
        )
    if any(d < 1 for d in given):
        raise CaseError(f"{given} has a dimension below 1", where=f"launch.{what}")
    x, y, z = (*(int(d) for d in given), 1, 1)[:3]
    return x, y, z


def _grid(
    grid: Extent | None, problem: Extent | None, per_block: Extent | None, block: Dim3
) -> Dim3:
    if (grid is None) == (problem is None):
        raise CaseError(
            "give either the grid or the problem size",
            where="launch",
            hint="grid=(blocks_x, …) or problem=(elements_x, …)",
        )
    if grid is not None:
        if per_block is not None:
            raise CaseError("per_block goes with problem, not with grid", where="launch.per_block")
        return dims("grid", grid)
    covered = block if per_block is None else dims("per_block", per_block)
    sizes = dims("problem", problem) if problem is not None else (1, 1, 1)
    # A one-dimensional problem in a two-dimensional block still needs one block along y.
    x, y, z = (-(-size // per) for size, per in zip(sizes, covered, strict=True))
    return x, y, z


@dataclass(frozen=True, eq=False)
class _Code:
    """What was given as source."""

    text: str
    path: Path | None = None
    language: Language = Language.CUDA
    options: CompileOptions = field(default_factory=CompileOptions)
    function: Any = None


def _code(source: Any) -> _Code:
    if is_cupy(source):
        found = cupy_source(source)
        return _Code(found.source, options=found.options)
    if isinstance(source, FunctionType) or hasattr(source, "py_func"):
        return _Code("", language=Language.NUMBA, function=source)
    if not isinstance(source, str | os.PathLike):
        raise no_kernel(source, "source")
    text, path = read_source(source if isinstance(source, str) else Path(source))
    language = Language.PTX if is_ptx(path or text) else Language.CUDA
    return _Code(text, path, language)


def no_kernel(thing: object, where: str) -> CaseError:
    """The error for a thing that is no kernel of any kind."""
    return CaseError(
        f"this {type(thing).__name__} is no kernel",
        where=where,
        hint="CUDA C++, PTX, Numba functions and CuPy's RawKernel and RawModule are",
    )


def _check_numba(**options: object) -> None:
    """Raises CaseError for options of NVRTC, which compiles no Numba function."""
    for name, value in options.items():
        if value:
            raise CaseError(
                "Numba compiles the function, not NVRTC",
                where=name,
                hint="leave it out; @cuda.jit takes options such as fastmath=True, and the "
                "function reads its globals",
            )


def _in_order(
    function: Any, arguments: Sequence[Value] | Mapping[str, Value]
) -> Sequence[Value] | Mapping[str, Value]:
    """Arguments by name in the order of the Python function's parameters.

    Raises CaseError where one is missing or none of the parameters.
    """
    if not isinstance(arguments, Mapping):
        return arguments
    python = getattr(function, "py_func", function)
    names = list(inspect.signature(python).parameters)
    faults = [
        f"{what}: {', '.join(found)}"
        for what, found in (
            ("missing", [n for n in names if n not in arguments]),
            ("not a parameter", [n for n in arguments if n not in names]),
        )
        if found
    ]
    if faults:
        raise CaseError(
            "; ".join(faults), where="arguments", hint=f"{python.__name__}({', '.join(names)})"
        )
    return {name: arguments[name] for name in names}


def read_source(source: str | Path) -> tuple[str, Path | None]:
    """Text and path of a source; raises CaseError where there is no such file."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, None
    path = Path(source)
    try:
        text = source_text(path)
    except FileNotFoundError:
        raise CaseError(
            "no such file", where=str(path), hint="the source is a file's path or CUDA C++ text"
        ) from None
    except OSError as error:
        raise CaseError(f"cannot be read: {error}", where=str(path)) from error
    if "\0" in text:
        raise CaseError("is not text", where=str(path), hint="the source is CUDA C++ or PTX")
    return text, path


def _arguments(arguments: object) -> tuple[Argument, ...]:
    if isinstance(arguments, Mapping):
        return tuple(make_argument(name, value) for name, value in arguments.items())
    if not isinstance(arguments, Sequence) or isinstance(arguments, str):
        raise CaseError(
            f"expected the list of the kernel's arguments, not {type(arguments).__name__}",
            where="arguments",
        )
    return tuple(make_argument(positional(i), value) for i, value in enumerate(arguments, start=1))


def is_ptx(source: str | Path) -> bool:
    """Whether a path or text is PTX."""
    text = str(source)
    if "\n" not in text:
        return text.endswith(".ptx")
    return any(line.lstrip().startswith(".version") for line in text.split("\n", 40))


def positional(number: int) -> str:
    """Name of the ``number``-th argument (from 1) until the kernel's parameter names are known."""
    return f"#{number}"


def is_positional(name: str) -> bool:
    """Whether ``name`` came from :func:`positional`; no C++ identifier does."""
    return name.startswith("#")


def describe(name: str) -> str:
    """An argument in an error message."""
    return f"argument {name[1:]}" if is_positional(name) else f"argument '{name}'"


def make_argument(name: str, value: object) -> Argument:
    """An argument of any kind; raises CaseError located at the argument."""
    where = describe(name)
    match value:
        case TextureArgument() | SurfaceArgument():
            return replace(value, name=name)
        case None:
            return ScalarArgument(name, POINTER.type(0))
        case PointerTo(array, element):
            return ScalarArgument(name, POINTER.type(0), (StoredPointer(0, array, element),))
        case Struct():
            records, stored = struct_array([value], where)
            return ScalarArgument(name, records[0], stored)
        case Uninitialised():
            data = _checked_array(value.placeholder(), where)
            return ArrayArgument(name, data, uninitialised=True)
        case list() | tuple() if value:
            structs = [v for v in value if isinstance(v, Struct)]
            if len(structs) == len(value):
                return ArrayArgument(name, *struct_array(structs, where))
            pointers = [v for v in value if isinstance(v, PointerTo | None)]
            if len(pointers) == len(value):
                return ArrayArgument(name, *pointer_table(pointers))
            return _plain_argument(name, value, where)
        case _:
            return _plain_argument(name, value, where)


def _plain_argument(name: str, value: object, where: str) -> Argument:
    """An array or scalar of NumPy."""
    if isinstance(value, np.generic):
        if value.dtype.hasobject or value.dtype.kind in "SUMm":
            raise CaseError(
                f"values of type {value.dtype} cannot be passed to a kernel", where=where
            )
        return ScalarArgument(name, value)
    if isinstance(value, np.ndarray):
        return ArrayArgument(name, _checked_array(value, where))
    if isinstance(value, bool | int | float | complex):
        kind = {bool: "bool_", int: "int32", float: "float32"}.get(type(value), "complex64")
        raise CaseError(
            f"a Python {type(value).__name__} has no definite size",
            where=where,
            hint=f"use np.{kind}({value}) or another NumPy type that matches the parameter",
        )
    raise CaseError(
        f"expected a NumPy array or scalar, not {type(value).__name__}",
        where=where,
        hint="use np.asarray(..., dtype=...); pointers and structs are PointerTo and Struct",
    )


def _checked_array(array: np.ndarray[Any, Any], where: str) -> NDArray[np.generic]:
    if array.dtype.hasobject or array.dtype.kind in "SUMm":
        raise CaseError(f"arrays of {array.dtype} cannot be passed to a kernel", where=where)
    if not array.dtype.isnative:
        hint = "convert with .astype(array.dtype.newbyteorder('='))"
        raise CaseError(
            f"the array's byte order ({array.dtype}) is foreign", where=where, hint=hint
        )
    if array.size == 0:
        raise CaseError(f"the array is empty (shape {array.shape})", where=where)
    if not array.flags.c_contiguous:
        raise CaseError(
            f"the array of shape {array.shape} is not contiguous in C order",
            where=where,
            hint="pass np.ascontiguousarray(array)",
        )
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _inputs(
    arguments: object, constants: Mapping[str, Value], buffers: Mapping[str, Value]
) -> Inputs:
    data: list[tuple[str, NDArray[np.generic]]] = []
    stored: list[tuple[str, StoredPointer]] = []
    for symbol, value in constants.items():
        content, pointers = _constant(symbol, value)
        data.append((symbol, content))
        stored += [(symbol, p) for p in pointers]
    made = _arguments(arguments)
    own = [_buffer(name, value) for name, value in buffers.items()]
    twice = {a.name for a in made} & {b.name for b in own}
    if twice:
        raise CaseError("a buffer has the name of an argument", where=f"buffer '{min(twice)}'")
    return Inputs(made, tuple(data), tuple(own), tuple(stored))


def _constant(symbol: str, value: Value) -> tuple[NDArray[np.generic], tuple[StoredPointer, ...]]:
    where = f"constant '{symbol}'"
    try:
        made = make_argument(symbol, value)
    except CaseError as error:
        raise CaseError(error.message, where=where, hint=error.hint) from error
    match made:
        case ArrayArgument(uninitialised=False):
            return made.data, made.pointers
        case ScalarArgument():
            return _checked_array(np.array([made.value]), where), made.pointers
        case _:
            raise CaseError("a constant is an array, a scalar, a pointer or a struct", where=where)


def _buffer(name: str, value: Value) -> ArrayArgument:
    made = make_argument(name, value)
    if not isinstance(made, ArrayArgument):
        raise CaseError("a buffer is an array", where=f"buffer '{name}'")
    return made
