"""A case, whatever its language, made ready to run: compiled, read, its arguments named."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace

import numpy as np

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.make_case import is_positional, positional
from placewise.kernel.cases.overlaps import keep_overlaps
from placewise.kernel.frontends.numba_kernel import numba_kernel
from placewise.kernel.frontends.nvrtc import compile_kernel, left_out
from placewise.kernel.frontends.ptx_kernel import null_scratch, ptx_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Argument, ArrayArgument, ScalarArgument
from placewise.kernel.source import ArrayUse, Parameter, SourceView
from placewise.kernel.view import (
    IncludedKernelError,
    analyse_source,
    bound_case,
    inline_kernel_file,
)
from placewise.kernel.view.elements import type_of


@dataclass(frozen=True, eq=False)
class ReadCase:
    """A case with everything that is known of it before it runs: its compiled kernel and its source
    view."""

    case: Case
    """The case, its arguments under the names of the kernel's parameters."""
    kernel: Kernel
    view: SourceView
    notes: tuple[str, ...]
    """Which host code was left out of the source, which arrays share memory, and what cannot be
    told without a source."""
    joined: str = ""
    """Which included file stands in place of its directive, and how its lines are counted; empty
    where none does."""


def compile_case(case: Case) -> Kernel:
    """Compile the case's kernel for ``case.options.arch``. Raises CaseError, CompileError or
    UnsupportedError, as the front end of its language does."""
    match case.language:
        case Language.CUDA:
            return compile_kernel(case.source, case.filename, case.kernel, case.options)
        case Language.PTX:
            kernel = ptx_kernel(
                case.source,
                case.kernel or None,
                filename=case.filename,
                arch=case.options.arch,
                nvrtc=case.options.nvrtc,
            )
            return replace(kernel, passing=case.passing)
        case Language.NUMBA:
            given = [_for_numba(case, a) for a in case.inputs.arguments]
            return numba_kernel(case.function, given, arch=case.options.arch)


def read_case(case: Case) -> ReadCase:
    """Compile ``case``, see what its source says, and name its arguments.

    Of PTX and Python nothing is read: every array may live wherever the machine and the run allow,
    but there are no tiles. Raises CaseError, CompileError and
    UnsupportedError as the front ends do.
    """
    kernel = compile_case(case)
    if case.language is Language.CUDA:
        joined = ""
        try:
            view = analyse_source(case)
        except IncludedKernelError:
            case, joined = inline_kernel_file(case)
            kernel, view = compile_case(case), analyse_source(case)
        notes: tuple[str, ...] = (joined,) if joined else ()
        host = left_out(case.source, case.filename, case.kernel, case.options)
        notes += (f"left out as host code: {', '.join(host)}",) if host else ()
        bound = bind_names(case, view)
        written = {use.name for use in view.arrays if use.written}
        inputs, shared = keep_overlaps(bound.inputs, written.__contains__)
        if inputs is not bound.inputs:
            bound = replace(bound, inputs=inputs)
            view = analyse_source(bound)
        return ReadCase(bound, kernel, view, (*notes, *shared), joined)
    named = named_case(case)
    note = (
        f"the kernel is {case.language}: placements are predicted; those that change how global "
        "memory is loaded are written out, as PTX, and proven; tiles in shared memory are not "
        "considered"
    )
    return ReadCase(named, kernel, _opaque_view(named), (note,))


def named_case(case: Case) -> Case:
    """``case`` with its arguments in the order and under the names of the kernel's parameters.

    Arrays that share memory share it on the device, where a parameter is no pointer to ``const``.
    A CUDA C++ source whose kernel's definition cannot be read leaves them as they are given. Raises
    CaseError where they do not fit the parameters.
    """
    if case.language is not Language.CUDA:
        return replace(case, inputs=replace(case.inputs, arguments=_named(case)))
    try:
        bound, parameters = bound_case(case)
    except UnsupportedError:
        return case
    fixed = {p.name for p in parameters if p.type_text.startswith("const ")}
    inputs, _ = keep_overlaps(bound.inputs, lambda name: name not in fixed)
    return replace(bound, inputs=inputs)


def _for_numba(case: Case, argument: Argument) -> object:
    if isinstance(argument, ArrayArgument):
        return argument.data
    if isinstance(argument, ScalarArgument):
        return argument.value
    raise UnsupportedError(
        "Numba functions take no textures", where=f"{case.name}: argument '{argument.name}'"
    )


def _named(case: Case) -> tuple[Argument, ...]:
    """Arguments under the Python function's names, or numbered: PTX tells no names. Pointers to
    scratch memory that Triton's PTX takes besides, and does not use, follow as null pointers."""
    arguments = case.inputs.arguments
    if case.language is Language.PTX and case.passing is None:
        nulls = null_scratch(case.source, case.kernel or None, case.filename, len(arguments))
        extra = range(len(arguments) + 1, len(arguments) + nulls + 1)
        arguments += tuple(ScalarArgument(positional(n), np.uint64(0)) for n in extra)
    names = [f"argument{n}" for n in range(1, len(arguments) + 1)]
    if case.language is Language.NUMBA:
        function = getattr(case.function, "py_func", case.function)
        names[:] = list(inspect.signature(function).parameters)[: len(names)]
    return tuple(
        replace(a, name=name) if is_positional(a.name) else a
        for a, name in zip(arguments, names, strict=True)
    )


def _opaque_view(case: Case) -> SourceView:
    """A view of a kernel whose source is not CUDA C++: its arrays, and nothing of their use."""
    parameters = tuple(_parameter(a) for a in case.inputs.arguments)
    arrays = tuple(
        ArrayUse(
            parameter=parameter,
            read=True,
            written=False,
            accesses=(),
            obstacles=(),
            tile=None,
            tile_obstacle="tiles are found in CUDA C++ only",
            elements=argument.data.size,
        )
        for parameter, argument in zip(parameters, case.inputs.arguments, strict=True)
        if isinstance(argument, ArrayArgument)
    )
    return SourceView(
        kernel=case.kernel,
        parameters=parameters,
        arrays=arrays,
        body_start=0,
        body_end=0,
        signature_start=0,
    )


def _parameter(argument: Argument) -> Parameter:
    pointer = isinstance(argument, ArrayArgument)
    dtype = argument.value.dtype if isinstance(argument, ScalarArgument) else argument.data.dtype
    element = type_of(str(dtype)) or str(dtype)
    return Parameter(
        name=argument.name,
        type_text=f"{element} *" if pointer else element,
        is_pointer=pointer,
        element_type=element,
        element_bytes=dtype.itemsize,
        element_dtype=str(dtype) if type_of(str(dtype)) else None,
    )
