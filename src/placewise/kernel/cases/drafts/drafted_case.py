"""A first guess at the launch and the inputs of the kernels in a source.

It is a guess that a user completes. It looks at the text alone; only the compiler really reads it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from placewise.kernel.cases.array_sources import stored_type
from placewise.kernel.cases.drafts.drafted_constants import drafted_constants
from placewise.kernel.cases.drafts.drafted_indices import are_starts, indexed_by
from placewise.kernel.cases.drafts.drafted_launch import (
    DraftedLaunch,
    block_of,
    drafted_launches,
    launch_of,
    shared_bytes_of,
    template_arguments,
    value_of,
)
from placewise.kernel.cases.drafts.drafted_types import (
    VECTOR,
    DraftedMember,
    DraftedTypes,
    drafted_types,
)
from placewise.kernel.cases.drafts.host_numbers import HostNumbers
from placewise.kernel.cases.drafts.host_text import HostText, apart

# Every part has a bound: without, an unclosed bracket that comes often takes quadratic time.
_KERNEL = re.compile(
    r"(?:\btemplate\s*<(?P<template>[^<>]{0,999})>\s*)?(?:\bstatic\s+|\binline\s+)*"
    r"__global__\s+(?:__launch_bounds__\s*\([^)]{0,99}\)\s*)?void\s+"
    r"(?:__launch_bounds__\s*\([^)]{0,99}\)\s*)?(?P<name>\w+)\s*\((?P<parameters>[^)]{0,9999}+)\)"
    r"(?!\s*;)"
)
_COMMENT = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|(?P<text>\"(?:[^\"\\\n]|\\.){0,999}\"|'(?:[^'\\\n]|\\.)')", re.S
)
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|struct|__restrict__|__restrict|restrict|__grid_constant__)\b"
)
_CONDITION = re.compile(
    r"^[ \t]*#[ \t]*if(?P<absent>n?)def[ \t]+(?P<name>\w+)[^\n]*\n(?P<then>[^#]{0,999})"
    r"(?:#[ \t]*else[^\n]*\n(?P<otherwise>[^#]{0,999}))?#[ \t]*endif[^\n]*$",
    re.M,
)
_AXIS = re.compile(r"\b(threadIdx|blockIdx)\s*\.\s*([xyz])")
ELEMENTS = 1 << 20
"""Number of elements of each array, and of a problem of one dimension."""
_SIDES = {1: ELEMENTS, 2: 1 << 10, 3: 1 << 7}
"""A problem's extent along each of its dimensions."""
_SMALL = 4
"""Whole numbers in constant memory are below this one."""
ROW = 8
"""Elements of a row, where an array tells where rows start."""


@dataclass(frozen=True)
class DraftedArgument:
    """One parameter of a kernel, and what to start from."""

    name: str
    dtype: str
    width: int
    """Numbers in an element: 4 for ``float4``, 1 for plain types."""
    is_array: bool
    is_read_only: bool
    """Whether an array's elements are const."""
    unknown: str
    """The type as in the source where its numbers are not known, such as a struct; else empty."""
    members: tuple[DraftedMember, ...] = ()
    """The members of a struct of plain numbers, or of each struct of an array."""
    times: int = 1
    """An array has this many times the usual number of elements."""
    shape: str = ""
    """An array's number of elements, as a formula of the sizes, where it is known better."""
    is_starts: bool = False
    """An array of where rows start, in ascending order."""
    indexed: tuple[str, ...] = ()
    """Arrays that its elements seem to be indices of."""
    below: int = 0
    """Random whole numbers of the array are below this one; 0: below a usual one."""
    is_random: bool = False
    """An array that is not const starts from random numbers, too."""
    given: float | None = None
    """Value that the source passes for a number that is no size."""

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, as C lays out a struct's members."""
        if self.members:
            kinds = [(m.name, stored_type(m.dtype), m.count or 1) for m in self.members]
            return np.dtype(kinds, align=True).itemsize
        return stored_type(self.dtype).itemsize * self.width

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are integers."""
        return self.dtype.startswith(("int", "uint"))

    @property
    def is_fraction(self) -> bool:
        """Whether it is a number with a fraction."""
        return (
            self.dtype.startswith("float")
            and not (self.is_array or self.members or self.unknown)
            and self.width == 1
        )

    @property
    def is_size(self) -> bool:
        """Whether it is a whole number that may be the size of something large."""
        return (
            self.is_whole
            and not (self.is_array or self.members or self.dtype.endswith(("int8", "int16")))
            and self.width == 1
            and self.given is None
        )

    @property
    def filling(self) -> str:
        """What an array starts from: ``fill`` (the same everywhere), or random ``integers`` or
        ``uniform`` numbers."""
        if self.dtype == "bool" or not (self.is_read_only or self.is_random):
            return "fill"
        return "integers" if self.is_whole else "uniform"

    @property
    def high(self) -> int:
        """The end of the random numbers, which begin at 0."""
        if not self.is_whole or self.below:
            return self.below or 1
        return 100 if self.dtype in ("int8", "uint8") else 1000


@dataclass(frozen=True)
class DraftedKernel:
    """A kernel with a launch and arguments to start from."""

    kernel: str
    """Name, with template arguments where the kernel is a template."""
    block: tuple[int, ...]
    """Threads, of the source's own launch where its block is told in numbers."""
    arguments: tuple[DraftedArgument, ...]
    launches: tuple[DraftedLaunch, ...]
    """The launch to start from, and others with smaller sizes that may be tried."""
    constants: tuple[DraftedArgument, ...] = ()
    """Variables in constant memory that it reads and the source does not initialise."""
    shared_bytes: int = 0
    """Dynamic shared memory of a block."""
    include: tuple[str, ...] = ()
    """Folders of headers, as the case file names them."""
    unreached: tuple[str, ...] = ()
    """Arrays that no access of the tried run was to."""

    @property
    def name(self) -> str:
        """Name without template arguments."""
        return self.kernel.partition("<")[0]

    @property
    def sizes(self) -> tuple[DraftedArgument, ...]:
        """Whole numbers among the arguments: sizes, most likely."""
        return tuple(a for a in self.arguments if a.is_size)

    @property
    def launch(self) -> DraftedLaunch:
        """Grid and sizes to start from."""
        return self.launches[0]

    @property
    def values(self) -> dict[str, int]:
        """Values of the sizes to start from."""
        return {a.name: self.launch.sizes.get(a.name, self.launch.usual) for a in self.sizes}

    @property
    def lengths(self) -> dict[str, str]:
        """Elements of the arrays whose bytes the source tells, as formulas of the sizes."""
        told = self.launch.lengths
        return {
            argument.name: told[number].elements(argument.element_bytes)
            for number, argument in enumerate(self.arguments)
            if argument.is_array and number in told
        }

    @property
    def largest_bytes(self) -> int:
        """Bytes of the largest array whose bytes the source tells; 0 where it tells none."""
        return max((length.bytes for length in self.launch.lengths.values()), default=0)

    @property
    def elements(self) -> int:
        """Number of elements to start from for each array."""
        return max(math.prod(self.launch.problem), ELEMENTS)


def drafted_kernels(source: str) -> tuple[DraftedKernel, ...]:
    """The kernels that ``source``, a text in CUDA C++, seems to have, in its order."""
    # Texts that a program prints tell nothing: "n = %d" is no definition of n.
    text = _COMMENT.sub(lambda match: '""' if match["text"] else " ", source)
    found = list(_KERNEL.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    types, host = drafted_types(text), HostText(text)
    return tuple(
        _kernel(host, match, text[match.end() : end], types)
        for match, end in zip(found, ends, strict=False)
    )


def _kernel(host: HostText, match: re.Match[str], body: str, types: DraftedTypes) -> DraftedKernel:
    """The kernel whose declaration ``match`` is; ``body`` is the text up to the next one."""
    text, name = host.text, match["name"]
    axes = [(index, 1 + "xyz".index(axis)) for index, axis in _AXIS.findall(body)]
    of_block = max((axis for index, axis in axes if index == "threadIdx"), default=1)
    launch = launch_of(text, name)
    block, numbers = block_of(HostNumbers(host), match[0], launch, of_block)
    known, given = template_arguments(numbers, match, launch, block)
    parameters = _CONDITION.sub(partial(_chosen_branch, text), match["parameters"])
    parts = [part.split("=")[0].strip() for part in apart(parameters, angles=True)]
    arguments = [_argument(part, n, known, types) for n, part in enumerate(parts, 1)]
    for number, argument in enumerate(arguments):
        value = value_of(numbers, launch, number)
        if value is not None and (argument.is_fraction or (argument.is_size and value < 1)):
            arguments[number] = replace(argument, given=value)
    arguments = [_with_indices(a, body, arguments) for a in arguments]
    dimensions = max([len(block), *(axis for _, axis in axes)])
    whole = [a for a in arguments if not a.is_array and a.is_whole]
    side = _SIDES[dimensions] if len(whole) < 2 or dimensions > 1 else _SIDES[2]
    sizes = {a.name: number for number, a in enumerate(arguments) if a.is_size}
    return DraftedKernel(
        kernel=f"{name}<{', '.join(given)}>" if given else name,
        block=block,
        arguments=tuple(arguments),
        launches=drafted_launches(numbers, launch, sizes, block, (side,) * dimensions),
        constants=_constants(numbers, match.start(), body, types),
        shared_bytes=shared_bytes_of(numbers, launch, body),
    )


def _constants(
    numbers: HostNumbers, start: int, body: str, types: DraftedTypes
) -> tuple[DraftedArgument, ...]:
    """Constants of known types; whole numbers only in arrays, where they are small, since they may
    be distances between elements."""
    found = []
    for one in drafted_constants(numbers, start, body):
        star = "*" if one.elements else ""
        argument = _argument(f"const {one.kind} {star}{one.name}", 1, {}, types)
        is_known = bool(argument.members) or not argument.unknown
        if is_known and (one.elements or argument.is_fraction):
            below = _SMALL if argument.is_whole else 0
            found.append(replace(argument, shape=str(one.elements), below=below))
    return tuple(found)


def _with_indices(
    argument: DraftedArgument, body: str, arguments: Sequence[DraftedArgument]
) -> DraftedArgument:
    """``argument`` with what it holds in a kernel of this ``body``, if that is indices."""
    small = argument.dtype.endswith(("int8", "int16"))
    if not argument.is_array or not argument.is_whole or small or argument.width > 1:
        return argument
    if are_starts(body, argument.name):
        return replace(argument, is_starts=True)
    arrays = [a.name for a in arguments if a.is_array]
    return replace(argument, indexed=indexed_by(body, argument.name, arrays))


def _chosen_branch(text: str, condition: re.Match[str]) -> str:
    """What is left of ``#ifdef`` … ``#endif`` when only the macros of ``text`` are defined."""
    defined = re.search(rf"#[ \t]*define[ \t]+{condition['name']}\b", text) is not None
    if defined != bool(condition["absent"]):
        return condition["then"]
    return condition["otherwise"] or ""


def _argument(
    parameter: str, number: int, template_types: dict[str, str], types: DraftedTypes
) -> DraftedArgument:
    """Parameter ``number``, counted from 1, as its declaration says."""
    is_array = "*" in parameter or "[" in parameter
    plain = parameter.split("[")[0]
    words = " ".join(_QUALIFIERS.sub(" ", plain).replace("*", " ").split())
    kind, _, name = (words, "", "") if words in types.dtypes else words.rpartition(" ")
    kind = template_types.get(kind, kind)
    vector = VECTOR.fullmatch(kind)
    scalar = vector[1] if vector else kind
    return DraftedArgument(
        name=name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"argument{number}",
        dtype=types.dtypes.get(scalar, "float32" if is_array else "int32"),
        width=int(vector[2]) if vector else 1,
        is_array=is_array,
        is_read_only=is_array and "const" in plain.split("*")[0].split(),
        unknown="" if scalar in types.dtypes else kind,
        members=_members_in(types.structs.get(kind, ()), is_array=is_array),
    )


def _members_in(members: tuple[DraftedMember, ...], *, is_array: bool) -> tuple[DraftedMember, ...]:
    """``members`` where a case file can hold them: a struct by value has no arrays in it."""
    return members if is_array or not any(m.count for m in members) else ()


def draft_text(drafted: DraftedKernel, source: str) -> str:
    """A case file for the kernel, with ``source`` as the name of its file. What the user has to
    check is marked ``guess``."""
    launch = drafted.launch
    sizes = drafted.values
    one_size = len(sizes) == 1 and launch.problem == tuple(sizes.values()) and not launch.grid
    elements = "elements" if "elements" not in sizes else "array_elements"
    lengths = drafted.lengths
    if one_size:
        elements = next(iter(sizes))
    elif any(a.is_array and not a.shape and a.name not in lengths for a in drafted.arguments):
        sizes[elements] = drafted.elements
    if launch.grid:
        extent = f"grid = {json.dumps(launch.grid)}    # guess: blocks, as the source launches them"
    else:
        problem = f'"{elements}"' if one_size else str(list(launch.problem))
        extent = f"problem = {problem}    # guess: threads in all; or grid = [...], in blocks"
    lines = [
        "# Drafted from the kernel's parameters: put your own sizes and data where it says guess.",
        "schema = 1",
        f'kernel = "{drafted.kernel}"' + ("    # guess" if "<" in drafted.kernel else ""),
        f"source = {json.dumps(source)}",
        *([f"include = {json.dumps(drafted.include)}"] if drafted.include else []),
        "",
        "[sizes]",
        *(f"{name} = {value}    # guess" for name, value in sizes.items()),
        "",
        "[launch]",
        extent,
        f"block = {list(drafted.block)}    # guess",
    ]
    if drafted.shared_bytes:
        lines.append(f"shared_bytes = {drafted.shared_bytes}    # guess: dynamic shared memory")
    if not drafted.arguments:
        # Keys of the file itself come before its first table.
        lines.insert(lines.index(""), "arguments = []")
    for number, argument in enumerate(drafted.arguments, 1):
        length = lengths.get(argument.name, elements)
        lines += ["", "[[arguments]]", *_argument_lines(argument, length, number)]
    for number, constant in enumerate(drafted.constants, 1 + len(drafted.arguments)):
        lines += ["", "[[constants]]", *_argument_lines(constant, elements, number)]
    return "\n".join(lines) + "\n"


# One branch for each way in which a case file describes an argument.
def _argument_lines(argument: DraftedArgument, elements: str, seed: int) -> list[str]:
    """Lines of the case file for one argument; ``elements`` is its usual length as a formula."""
    if argument.shape:
        elements = argument.shape
    elif argument.times > 1:
        bracketed = elements if re.fullmatch(r"[\w* ]+", elements) else f"({elements})"
        elements = f"{bracketed} * {argument.times}"
    extent = elements if elements.isdigit() else f'"{elements}"'
    if argument.members and not argument.is_array:
        return [
            f'name = "{argument.name}"    # guess: a struct of type {argument.unknown}',
            "struct = [",
            *(
                f'    {{ name = "{m.name}", dtype = "{m.dtype}", value = {_number(m.dtype)} }},'
                "    # guess"
                for m in argument.members
            ),
            "]",
        ]
    if argument.members:
        return [
            f'name = "{argument.name}"',
            f"shape = {extent}    # guess: structs of type {argument.unknown}",
            "structs = [",
            *(f"    {_member(argument, m, seed + n)}" for n, m in enumerate(argument.members)),
            "]",
        ]
    unknown = f"    # guess: of type {argument.unknown}" if argument.unknown else ""
    lines = [f'name = "{argument.name}"', f'dtype = "{argument.dtype}"{unknown}']
    whole = argument.is_whole
    if not argument.is_array:
        if argument.width > 1:
            value = str([0 if whole else 0.0] * argument.width)
        elif argument.given is not None:
            value = str(int(argument.given) if whole else float(argument.given))
        elif argument.is_size:
            value = f'"{argument.name}"'
        else:
            value = _number(argument.dtype)
        return [*lines, f"value = {value}" + ("" if value.startswith('"') else "    # guess")]
    shape = f"[{extent}, {argument.width}]" if argument.width > 1 else extent
    lines.append(f"shape = {shape}    # guess")
    if argument.is_starts:
        return [
            *lines,
            f"arange = {{ start = 0, step = {ROW} }}"
            f'    # guess: where rows start; or file = "{argument.name}.npy"',
        ]
    filling = _filling(argument, seed)
    if argument.filling == "fill":
        return [*lines, filling]
    return [*lines, f'{filling}    # guess; or file = "{argument.name}.npy"']


def _number(dtype: str) -> str:
    if dtype == "bool":
        return "true"
    return "1" if dtype.startswith(("int", "uint")) else "1.0"


def _filling(argument: DraftedArgument, seed: int) -> str:
    if argument.filling == "fill":
        return "fill = false" if argument.dtype == "bool" else "fill = 0"
    return f"{argument.filling} = {{ low = 0, high = {argument.high}, seed = {seed} }}"


def _member(array: DraftedArgument, member: DraftedMember, seed: int) -> str:
    """The entry of a struct's member, filled like an array of its type."""
    filling = _filling(replace(array, dtype=member.dtype), seed)
    shape = f", shape = {member.count}" if member.count else ""
    return f'{{ name = "{member.name}", dtype = "{member.dtype}"{shape}, {filling} }},    # guess'
