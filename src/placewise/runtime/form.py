"""A chosen version of a kernel: its source, and how it gets the original's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from placewise.kernel.cases.case import Case, CompileOptions, Language
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.frontends.ptx_kernel import ptx_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument, Launch, ScalarArgument, TextureArgument
from placewise.rewriter import Rewritten
from placewise.rewriter.layouts import Relaid
from placewise.runtime.devices.pieces import Piece, piece_document, piece_from_document, pieces_of
from placewise.runtime.launches.doubt import DoubtError


@dataclass(frozen=True)
class Texels:
    """A parameter that is a texture object over an array of the original."""

    argument: int
    """Number of the array among the original's arguments, from 0."""
    dtype: str
    """NumPy name of the type of a channel."""
    channels: int
    """Channels of a texel: 1, 2 or 4."""


@dataclass(frozen=True)
class Form:
    """One version of a kernel. It computes the same as the original for launches with the grid,
    block and deciding arguments that it was made for."""

    language: Language
    source: str
    filename: str
    kernel: str
    options: CompileOptions
    shared_bytes: int
    """Dynamic shared memory of its launches."""
    parameters: tuple[int | Texels | Piece, ...]
    """The kernel's parameters in order: numbers of the original's arguments, textures over such
    arguments, or pieces of them in another layout."""
    constants: tuple[tuple[str, int, int], ...]
    """(``__constant__`` symbol, byte in it, array of the original that is copied there before each
    launch)."""
    bound: tuple[tuple[int, int], ...]
    """(argument, value): integer arguments that sizes in its source depend on, with their
    values."""

    def launch_like(self, original: Launch) -> Launch:
        """The launch of this form in place of ``original``, a launch of the original kernel."""
        return Launch(original.grid, original.block, self.shared_bytes)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Parameters that are pieces."""
        return tuple(p for p in self.parameters if isinstance(p, Piece))


def form_of(rewritten: Rewritten, original: Case, *, bind_numbers: bool) -> Form:
    """The form made from ``rewritten``, a rewrite of ``original`` whose arguments are named after
    the parameters. With ``bind_numbers`` it is valid only for the integer arguments of this launch.

    Raises DoubtError for an argument that is not one of the original's.
    """
    numbers = {a.name: n for n, a in enumerate(original.inputs.arguments)}
    made_of = {new: old for old, new in rewritten.renamed}
    case = rewritten.case
    parameters: list[int | Texels | Piece] = []
    for argument in case.inputs.arguments:
        number = numbers.get(made_of.get(argument.name, argument.name))
        if number is None:
            raise DoubtError(f"the version takes '{argument.name}', which the original has not")
        if isinstance(argument, TextureArgument):
            data = argument.data
            channels = data.shape[1] if data.ndim == 2 else 1
            parameters.append(Texels(number, str(data.dtype), channels))
        elif isinstance(argument, ArrayArgument | ScalarArgument):
            parameters.append(number)
        else:
            raise DoubtError(f"the version takes the surface '{argument.name}'")
    filled = {symbol for symbol, _, _ in rewritten.filled}
    for symbol, _ in case.inputs.constants:
        if symbol not in filled:
            raise DoubtError(f"nothing is known to fill the constant '{symbol}'")
    constants = [(symbol, at, numbers[array]) for symbol, at, array in rewritten.filled]
    bound = tuple(
        (n, int(a.value.item()))
        for n, a in enumerate(original.inputs.arguments)
        if bind_numbers and isinstance(a, ScalarArgument) and a.value.dtype.kind in "iu"
    )
    return _form(case, parameters, constants, bound)


def form_of_layout(relaid: Relaid, original: Case) -> Form:
    """The form made from ``relaid``, a rewrite of ``original`` whose arguments are named after the
    parameters.

    Raises DoubtError for an argument that is neither one of the original's nor a piece of one.
    """
    numbers = {a.name: n for n, a in enumerate(original.inputs.arguments)}
    pieces = pieces_of(relaid, numbers)
    case = relaid.case
    parameters: list[int | Texels | Piece] = []
    for argument in case.inputs.arguments:
        found = pieces.get(argument.name, numbers.get(argument.name))
        if found is None:
            raise DoubtError(f"the version takes '{argument.name}', which the original has not")
        parameters.append(found)
    if case.inputs.constants:
        raise DoubtError("the kernel has constants")
    return _form(case, parameters)


def _form(
    case: Case, parameters: Sequence[int | Texels | Piece],
    constants: Sequence[tuple[str, int, int]] = (), bound: tuple[tuple[int, int], ...] = (),
) -> Form:  # fmt: skip
    return Form(
        language=case.language,
        source=case.source,
        filename=case.filename,
        kernel=case.kernel,
        options=case.options,
        shared_bytes=case.launch.shared_bytes,
        parameters=tuple(parameters),
        constants=tuple(constants),
        bound=bound,
    )


def compile_form(form: Form, original: Kernel, nvrtc: str | None = None) -> Kernel:
    """Compile a form for the target of ``original``, with release ``nvrtc`` of the compiler if
    given. Raises PlacewiseErrors of the front end."""
    nvrtc = nvrtc or form.options.nvrtc
    if form.language is Language.CUDA:
        options = replace(form.options, arch=original.arch, nvrtc=nvrtc)
        return compile_kernel(form.source, form.filename, form.kernel, options)
    made = ptx_kernel(
        form.source,
        form.kernel,
        filename=form.filename,
        arch=original.arch,
        nvrtc=nvrtc,
    )
    return replace(made, passing=original.passing)


def form_document(form: Form) -> dict[str, Any]:
    """A form as JSON types."""
    options = form.options
    return {
        "language": str(form.language),
        "source": form.source,
        "filename": form.filename,
        "kernel": form.kernel,
        "options": {
            "arch": options.arch,
            "defines": [list(pair) for pair in options.defines],
            "include_paths": [str(path) for path in options.include_paths],
            "std": options.std,
            "nvrtc": options.nvrtc,
            "flags": list(options.flags),
        },
        "shared_bytes": form.shared_bytes,
        "parameters": [_parameter_document(p) for p in form.parameters],
        "constants": [list(each) for each in form.constants],
        "bound": [list(pair) for pair in form.bound],
    }


def form_from_document(document: Mapping[str, Any]) -> Form:
    """The form in a document of :func:`form_document`; raises KeyError, TypeError or ValueError for
    any other document."""
    options = document["options"]
    return Form(
        language=Language(document["language"]),
        source=document["source"],
        filename=document["filename"],
        kernel=document["kernel"],
        options=CompileOptions(
            arch=options["arch"],
            defines=tuple((name, value) for name, value in options["defines"]),
            include_paths=tuple(Path(p) for p in options["include_paths"]),
            std=options["std"],
            nvrtc=options["nvrtc"],
            flags=tuple(options["flags"]),
        ),
        shared_bytes=int(document["shared_bytes"]),
        parameters=tuple(_parameter_from_document(p) for p in document["parameters"]),
        constants=tuple((symbol, at, n) for symbol, at, n in document["constants"]),
        bound=tuple((n, value) for n, value in document["bound"]),
    )


def _parameter_document(parameter: int | Texels | Piece) -> int | dict[str, Any]:
    match parameter:
        case Texels():
            return {"texture": parameter.argument, "of": parameter.dtype, "by": parameter.channels}
        case Piece():
            return piece_document(parameter)
        case _:
            return parameter


def _parameter_from_document(document: int | Mapping[str, Any]) -> int | Texels | Piece:
    if isinstance(document, int):
        return document
    if "piece" in document:
        return piece_from_document(document)
    return Texels(document["texture"], document["of"], document["by"])
