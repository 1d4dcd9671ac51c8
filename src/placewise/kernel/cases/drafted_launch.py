"""A first guess at a kernel's launch: block, dynamic shared memory, arguments of a template.

They are those of the source's own launch as far as that has numbers, or names of numbers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

SHARED_BYTES = 16384
"""Dynamic shared memory to start from where a kernel has some and its size is not told."""
_DYNAMIC_SHARED = re.compile(r"\bextern\s+__shared__\b")
_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
"""Threads of a block to start from, by the dimensions of the kernel's thread index."""
_BOUND = re.compile(r"__launch_bounds__\s*\(\s*(\w+)")
_THREADS = re.compile(r"block|threads|tpb", re.IGNORECASE)
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
    """What stands between the angle brackets: grid, block, shared memory and stream."""


def launch_of(text: str, kernel: str) -> SourceLaunch:
    """The first launch of ``kernel`` in ``text``."""
    launch = re.search(
        rf"\b{kernel}\s*(?:<(?P<template>[^<>]{{0,99}})>\s*)?<<<(?P<configuration>.{{0,300}}?)>>>",
        text,
        re.DOTALL,
    )
    if launch is None:
        return SourceLaunch()
    template = [part.strip() for part in (launch["template"] or "").split(",") if part.strip()]
    configuration = re.split(r",(?![^()]*\))", launch["configuration"])
    return SourceLaunch(tuple(template), tuple(part.strip() for part in configuration))


def block_of(text: str, head: str, launch: SourceLaunch, dimensions: int) -> tuple[int, ...]:
    """Threads of a block: those of ``launch`` where they are numbers; else as many as the kernel's
    ``head``, the text before its body, binds them to; else a usual number along each of
    ``dimensions``."""
    launched = _launched_block(text, launch)
    if launched is not None:
        return launched
    usual = _BLOCKS[dimensions]
    bound = _BOUND.search(head)
    most = _number(text, bound[1]) if bound else None
    if most is not None and 0 < most < math.prod(usual):
        return (most,)
    return usual


def shared_bytes_of(launch: SourceLaunch, body: str) -> int:
    """Bytes of dynamic shared memory of a kernel with this ``body``."""
    given = launch.configuration[2] if len(launch.configuration) > 2 else ""
    if given.isdigit():
        return int(given)
    return SHARED_BYTES if given or _DYNAMIC_SHARED.search(body) else 0


def template_arguments(
    text: str, kernel: re.Match[str], launch: SourceLaunch, block: tuple[int, ...]
) -> tuple[dict[str, str], list[str]]:
    """(types by the template parameter that stands for them, arguments of an instance).

    ``kernel`` is the match of a kernel's declaration, with groups ``template`` and ``parameters``.
    Arguments are those of the source's own ``launch`` where they are numbers or plain types. Else a
    type that the parameters have by value alone is a whole number, most likely: that of a size or a
    stride. A number that is called after the threads of a block, or bounds them, follows ``block``.
    """
    parameters = kernel["parameters"]
    bound = _BOUND.search(kernel[0])
    types: dict[str, str] = {}
    given: list[str] = []
    for number, parameter in enumerate(filter(None, map(str.strip, _split(kernel["template"])))):
        head, _, default = (part.strip() for part in parameter.partition("="))
        words = head.split()
        name, is_type = words[-1], words[0] in ("typename", "class")
        launched = launch.template[number] if number < len(launch.template) else ""
        known = launched if is_type and _TYPE.match(launched) else ""
        if not is_type:
            value = _number(text, launched)
            known = (
                launched if launched in ("true", "false") else "" if value is None else str(value)
            )
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
            given.append(str(block[0]) if _THREADS.search(name) else _OTHER_NUMBER)
        if is_type:
            types[name] = given[-1]
    return types, given


def _split(template: str | None) -> list[str]:
    return (template or "").split(",")


def _number(text: str, name: str) -> int | None:
    """A whole number that is written as such, or named by a macro or a constant of ``text``."""
    if re.fullmatch(r"\d{1,6}", name):
        return int(name)
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return None
    stated = re.search(
        rf"#[ \t]*define[ \t]+{name}[ \t]+\(?(\d{{1,6}})\b"
        rf"|\b(?:const|constexpr)\b[\w \t]{{0,60}}\b{name}\s*=\s*(\d{{1,6}})\s*;",
        text,
    )
    return int(stated[1] or stated[2]) if stated else None


def _launched_block(text: str, launch: SourceLaunch) -> tuple[int, ...] | None:
    """The block of a launch; None where it is not written in numbers."""
    block = launch.configuration[1] if len(launch.configuration) > 1 else ""
    if re.fullmatch(r"\w+", block) and not block.isdigit():
        stated = re.search(
            rf"\bdim3\s+{block}\s*[({{]([^(){{}}]{{0,99}})[)}}]"
            rf"|\b{block}\s*=\s*(?:dim3\s*\(([^()]{{0,99}})\)|(\d+))"
            rf"|#define\s+{block}\s+(\d+)",
            text,
        )
        block = next(filter(None, stated.groups()), "") if stated else ""
    parts = re.sub(r"^dim3\s*\(|\)$", "", block).split(",")
    numbers = [_number(text, part.strip()) for part in parts]
    found = tuple(n for n in numbers if n is not None and 0 < n <= 1024)
    return found if len(found) == len(parts) <= 3 else None
