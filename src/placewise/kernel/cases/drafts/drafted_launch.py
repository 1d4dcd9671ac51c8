"""A first guess at a kernel's launch: block, grid, sizes, shared memory, arguments of a template.

They are those of the source's own launch as far as its text tells numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from placewise.kernel.cases.drafts.drafted_lengths import Allocations, DraftedLength
from placewise.kernel.cases.drafts.host_numbers import HostNumbers
from placewise.kernel.cases.drafts.host_text import apart

SHARED_BYTES = 16384
"""Dynamic shared memory to start from where a kernel has some and its size is not told."""
THREADS = 256
"""Threads of a block to start from."""
FEW = (512, 256, 64, 8)
"""What the sizes are at most, one after the other, where a kernel takes long, does not end, or
needs too much memory with larger ones."""
_DYNAMIC_SHARED = re.compile(r"\bextern\s+__shared__\b")
_BLOCKS = {1: (THREADS,), 2: (16, 16), 3: (8, 8, 4)}
"""A block to start from, by the dimensions of the kernel's thread index."""
_MOST_THREADS = 1024
_MOST_NAMES = 4
"""Names of extents that are followed, each defined by the next."""
_MOST_SIZE = 1 << 31
_BOUND = re.compile(r"__launch_bounds__\s*\(\s*([^(),]{1,60}?)\s*[,)]")
_CALLED_THREADS = re.compile(r"block|threads|tpb", re.IGNORECASE)
"""What a template's number is called that says how many threads a block has."""
_OTHER_NUMBER = "16"
"""What other numbers of a template start from."""
_TYPE = re.compile(
    r"(?:unsigned\s+)?(?:float|double|int|char|short|bool|long(?:\s+long)?|half)\d?$"
)


@dataclass(frozen=True)
class SourceLaunch:
    """The source's own launch of a kernel, as texts; empty where it is not launched."""

    template: tuple[str, ...] = ()
    """Arguments of the kernel's template."""
    configuration: tuple[str, ...] = ()
    """What stands between ``<<<`` and ``>>>``: grid, block, shared memory and stream."""
    arguments: tuple[str, ...] = ()
    at: int = -1
    """Where it stands in the source; -1: nowhere."""


@dataclass(frozen=True)
class DraftedLaunch:
    """Grid and sizes to start from."""

    sizes: Mapping[str, int]
    """Value of each argument that may be a size."""
    usual: int
    """Value of arguments that are known as sizes only when a compiler has read their types."""
    problem: tuple[int, ...]
    """Threads in all, along each dimension."""
    grid: tuple[str, ...] = ()
    """Blocks along each dimension, as formulas of the sizes, where the source tells them."""
    lengths: Mapping[int, DraftedLength] = field(default_factory=dict)
    """How long the arrays are, by the argument's position from 0, where the source tells it."""


def launch_of(text: str, kernel: str) -> SourceLaunch:
    """The first launch of ``kernel`` in ``text``."""
    launch = re.search(
        rf"\b{kernel}\s*(?:<(?P<template>[^<>]{{0,99}})>\s*)?<<<(?P<configuration>.{{0,300}}?)>>>"
        r"\s*\((?P<arguments>[^;{}]{0,2000})",
        text,
        re.DOTALL,
    )
    if launch is None:
        return SourceLaunch()
    return SourceLaunch(
        _parts(launch["template"] or ""),
        _parts(launch["configuration"]),
        _parts(launch["arguments"].rpartition(")")[0]),
        launch.start(),
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in apart(text))


def block_of(
    numbers: HostNumbers, head: str, launch: SourceLaunch, dimensions: int
) -> tuple[tuple[int, ...], HostNumbers]:
    """The block, and ``numbers`` that also know the value chosen for each of its extents.

    It is the block of ``launch``; extents that the text does not tell fill it up to 256 threads.
    Without a launch it is a usual one of so many ``dimensions``, or as large as the
    ``__launch_bounds__`` in the kernel's ``head``, the text before its body, if that is smaller.
    """
    usual = _BLOCKS[dimensions]
    bound = _BOUND.search(head)
    most = numbers.number(bound[1], launch.at) if bound else None
    if most is not None and 0 < most < math.prod(usual):
        usual = (most,)
    told = launch.configuration[1] if len(launch.configuration) > 1 else ""
    extents, at = _extents(numbers, told, launch.at)
    if not extents or len(extents) > 3:
        return usual, numbers
    found = [numbers.number(extent, at) for extent in extents]
    if all(n is None for n in found):
        found[: len(usual)] = usual[: len(found)]
    left = max(1, THREADS // max(1, math.prod(n for n in found if n is not None)))
    known = dict(numbers.known)
    for axis, extent in enumerate(extents):
        if found[axis] is None:
            found[axis], left = left, 1
        known[extent] = found[axis] or 1
    block = tuple(n for n in found if n is not None)
    if min(block) < 1 or math.prod(block) > _MOST_THREADS:
        return usual, numbers
    return block, replace(numbers, known=known)


def _extents(numbers: HostNumbers, told: str, at: int) -> tuple[tuple[str, ...], int]:
    """Extents of a grid or block, as expressions, and where in the source they stand."""
    for _ in range(_MOST_NAMES):
        if re.fullmatch(r"[A-Za-z_]\w*", told):
            found = numbers.host.extents(told, at)
        else:
            inside = re.fullmatch(r"(?:dim3\s*\(|\{)(.*)[)}]", told, re.DOTALL)
            found = (_parts(inside[1]), at) if inside else None
        if found is None:
            break
        parts, at = found
        if len(parts) != 1:
            return parts, at
        told = parts[0]
    return ((told,) if told else ()), at


def shared_bytes_of(numbers: HostNumbers, launch: SourceLaunch, body: str) -> int:
    """Bytes of dynamic shared memory of a kernel with this ``body``."""
    told = launch.configuration[2] if len(launch.configuration) > 2 else ""
    given = numbers.number(told, launch.at) if told else None
    if given is not None and 0 <= given <= 1 << 20:
        return given
    return SHARED_BYTES if told or _DYNAMIC_SHARED.search(body) else 0


def value_of(numbers: HostNumbers, launch: SourceLaunch, number: int) -> float | None:
    """What the source's launch passes as argument ``number``, from 0, where it tells a number."""
    if number >= len(launch.arguments):
        return None
    value: float | None = _last_of_loop(numbers, launch, launch.arguments[number])
    if value is None:
        value = numbers.value(launch.arguments[number], launch.at)
    return value if value is not None and abs(value) < _MOST_SIZE else None


def _last_of_loop(numbers: HostNumbers, launch: SourceLaunch, name: str) -> int | None:
    """What ``name`` is in the last launch that a loop over it makes, where the grid grows with it;
    else None. Of other loops the first launch counts."""
    loop = numbers.host.loop(name, launch.at) if name.isidentifier() else None
    end = numbers.number(loop.end, loop.at) if loop and loop.end else None
    if loop is None or end is None:
        return None
    grid = launch.configuration[0] if launch.configuration else ""
    extents, at = _extents(numbers, grid, launch.at)
    of_name = (numbers.formula(extent, at, {name: name}) or "" for extent in extents)
    if not any(re.search(rf"\b{name}\b", formula) for formula in of_name):
        return None
    last = end - (not loop.takes_end)
    first = numbers.number(loop.first, loop.at)
    return last if first is None or last > first else None


def drafted_launches(
    numbers: HostNumbers,
    launch: SourceLaunch,
    sizes: Mapping[str, int],
    block: tuple[int, ...],
    problem: tuple[int, ...],
) -> tuple[DraftedLaunch, ...]:
    """The launch with the sizes that the source tells, and launches with smaller ones, to be tried
    one after the other.

    ``sizes`` are the arguments' names and positions. What the source does not tell is as if the
    kernel covered ``problem`` with threads.
    """
    found = [
        _launch(replace(numbers, most=most), launch, sizes, block, problem)
        for most in (None, *(FEW if sizes else ()))
    ]
    return tuple(one for n, one in enumerate(found) if one not in found[:n])


def _launch(
    numbers: HostNumbers,
    launch: SourceLaunch,
    sizes: Mapping[str, int],
    block: tuple[int, ...],
    problem: tuple[int, ...],
) -> DraftedLaunch:
    """The launch with sizes of at most ``numbers.most`` (None: any)."""
    usual = problem[0] if numbers.most is None else min(problem[0], numbers.most)
    numbers = replace(numbers, read=usual)
    told = {name: value_of(numbers, launch, number) for name, number in sizes.items()}
    values = {name: usual if value is None else int(value) for name, value in told.items()}
    passed = {
        launch.arguments[number]: name
        for name, number in sizes.items()
        if number < len(launch.arguments)
    }
    # What the text does not tell is the same number wherever it is used.
    unknown = {
        argument: values[name]
        for argument, name in passed.items()
        if told[name] != numbers.value(argument, launch.at) or told[name] is None
    }
    numbers = replace(numbers, known={**unknown, **numbers.known})
    extents, at = _extents(
        numbers, launch.configuration[0] if launch.configuration else "", launch.at
    )
    grid = [_blocks(numbers, extent, at, passed) for extent in extents[:3]]
    lengths = _lengths(numbers, launch, passed)
    known = [one for one in grid if one is not None]
    if not known or len(known) < len(extents):
        return DraftedLaunch(values, usual, problem, lengths=lengths)
    threads = _products([count for _, count in known], block)
    return DraftedLaunch(values, usual, threads, tuple(text for text, _ in known), lengths)


def _lengths(
    numbers: HostNumbers, launch: SourceLaunch, sizes: Mapping[str, str]
) -> dict[int, DraftedLength]:
    """How long the arrays are that ``launch`` passes."""
    allocations = Allocations(numbers)
    known = allocations.known_by(sizes, launch.at)
    found = {
        number: allocations.length_of(argument, launch.at, known)
        for number, argument in enumerate(launch.arguments)
    }
    return {number: length for number, length in found.items() if length is not None}


def _blocks(
    numbers: HostNumbers, extent: str, at: int, sizes: Mapping[str, str]
) -> tuple[str, int] | None:
    """An extent of the grid as a formula of ``sizes``, names in the host code by those of the
    arguments, and its value; None where it is not known."""
    value = numbers.number(extent, at)
    if value is None or value >= _MOST_SIZE:
        return None
    formula = numbers.formula(extent, at, sizes) if value > 0 else None
    return formula or str(max(1, value)), max(1, value)


def _products(grid: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
    axes = range(max(len(grid), len(block)))
    return tuple(
        (grid[n] if n < len(grid) else 1) * (block[n] if n < len(block) else 1) for n in axes
    )


# One branch for each kind of parameter and each place that may tell its argument.
def template_arguments(
    numbers: HostNumbers, kernel: re.Match[str], launch: SourceLaunch, block: tuple[int, ...]
) -> tuple[dict[str, str], list[str]]:
    """(types by the template parameter that stands for them, arguments of an instance).

    ``kernel`` is the match of a kernel's declaration, with groups ``template`` and ``parameters``.
    Arguments are those of the source's own ``launch`` where they are numbers or plain types. Else a
    type that is used by value alone becomes ``int``, since it is probably that of a size, others
    ``float``. A number that is called after a block's threads, or stands in ``__launch_bounds__``,
    is that of ``block``.
    """
    parameters = kernel["parameters"]
    bound = _BOUND.search(kernel[0])
    types: dict[str, str] = {}
    given: list[str] = []
    declared = [part.strip() for part in apart(kernel["template"] or "")]
    for number, parameter in enumerate(declared):
        if "..." in parameter:
            continue
        head, _, default = (part.strip() for part in parameter.partition("="))
        words = head.split()
        name, is_type = words[-1], words[0] in ("typename", "class")
        told = launch.template[number] if number < len(launch.template) else ""
        if is_type:
            known = told if _TYPE.match(told) else ""
        else:
            value = numbers.number(told, launch.at) if told else None
            known = told if told in ("true", "false") else "" if value is None else str(value)
        if known or default:
            given.append(known or default)
        elif is_type:
            by_value = re.search(rf"\b{name}\s+(?:const\s+)?\w", parameters)
            pointed_to = re.search(rf"\b{name}\b[\s\w]*\*", parameters)
            given.append("int" if by_value and not pointed_to else "float")
        elif words[0] == "bool":
            given.append("true")
        elif bound and bound[1] == name:
            given.append(str(math.prod(block)))
        else:
            given.append(str(block[0]) if _CALLED_THREADS.search(name) else _OTHER_NUMBER)
        if is_type:
            types[name] = given[-1]
    return types, given
