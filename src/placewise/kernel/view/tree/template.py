"""A kernel template's definition with its arguments put in place of the template header.

``template <typename T> __global__ void scale(T *x)`` with kernel name ``scale<float>`` becomes
``using T = float; __global__ void scale(T *x)``: concrete code that a parser gives full types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.errors import UnsupportedError

_TYPE_PARAMETER = re.compile(r"(?:typename|class)\s+(\w+)(?:\s*=\s*(.+))?$", re.S)
_VALUE_PARAMETER = re.compile(r"([\w:\s]+?)\s*\b(\w+)(?:\s*=\s*(.+))?$", re.S)


@dataclass(frozen=True)
class Substitution:
    """A text with one range replaced, and the way back to offsets of the original."""

    text: bytes
    header_start: int | None
    header_end: int
    inserted: int
    """Length of what stands in place of the header."""

    @classmethod
    def none(cls, text: bytes) -> Substitution:
        """A text in which nothing is replaced."""
        return cls(text, None, 0, 0)

    def original(self, offset: int) -> int:
        """Offset in the original text."""
        if self.header_start is None or offset < self.header_start:
            return offset
        if offset < self.header_start + self.inserted:
            return self.header_start
        return offset - self.inserted + self.header_end - self.header_start


def base_name(kernel: str) -> str:
    """Kernel name without template arguments."""
    return kernel.split("<", 1)[0].strip().removeprefix("::")


def substitute(text: bytes, kernel: str, start: int, where: str) -> Substitution:
    """Replace the template header at ``start`` by definitions of its parameters.

    Raises UnsupportedError for a header with parameter packs, template parameters of templates or
    missing arguments.
    """
    opening = text.index(b"<", start)
    end = _closing(text, opening) + 1
    parameters = _pieces(text[opening + 1 : end - 1].decode())
    inside = kernel.split("<", 1)[1].rsplit(">", 1)[0] if "<" in kernel else ""
    arguments = _pieces(inside)
    lines = [
        _definition(parameter, arguments[i] if i < len(arguments) else None, where)
        for i, parameter in enumerate(parameters)
    ]
    inserted = " ".join(lines).encode() + b" "
    # Line breaks stay, so that lines keep their numbers.
    inserted += b"\n" * text[start:end].count(b"\n")
    return Substitution(text[:start] + inserted + text[end:], start, end, len(inserted))


@dataclass(frozen=True)
class TemplateParameter:
    """One parameter of a kernel template, with the argument of the instance at hand."""

    name: str
    argument: str
    is_type: bool


def template_parameters(text: bytes, kernel: str, start: int) -> tuple[TemplateParameter, ...]:
    """Parameters of the template header that a definition at ``start`` begins with; none where it
    has no header. Parameters without a name or an argument are left out."""
    if not text[start:].startswith(b"template"):
        return ()
    opening = text.index(b"<", start)
    parameters = _pieces(text[opening + 1 : _closing(text, opening)].decode())
    inside = kernel.split("<", 1)[1].rsplit(">", 1)[0] if "<" in kernel else ""
    arguments = _pieces(inside)
    found = []
    for number, parameter in enumerate(parameters):
        as_type = _TYPE_PARAMETER.match(parameter)
        matched = as_type or _VALUE_PARAMETER.match(parameter)
        if matched is None:
            continue
        *names, default = matched.groups()
        argument = arguments[number] if number < len(arguments) else default
        if argument is not None:
            found.append(TemplateParameter(names[-1], argument.strip(), as_type is not None))
    return tuple(found)


def _definition(parameter: str, argument: str | None, where: str) -> str:
    as_type = _TYPE_PARAMETER.match(parameter)
    matched = as_type or _VALUE_PARAMETER.match(parameter)
    if matched is None or "..." in parameter:
        raise UnsupportedError(
            f"template parameter '{parameter}' is not covered",
            where=where,
            hint="types and integers are",
        )
    groups = matched.groups()
    value = argument or groups[-1]
    if value is None:
        raise UnsupportedError(f"no argument for template parameter '{parameter}'", where=where)
    if as_type:
        return f"using {groups[0]} = {value.strip()};"
    return f"constexpr {groups[0].strip()} {groups[1]} = {value.strip()};"


def _closing(text: bytes, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        if text[at : at + 1] == b"<":
            depth += 1
        elif text[at : at + 1] == b">":
            depth -= 1
            if depth == 0:
                return at
    return len(text) - 1


def _pieces(text: str) -> list[str]:
    """Split at commas outside brackets."""
    pieces, depth, current = [], 0, ""
    for char in text:
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += char
    return [*pieces, current.strip()] if current.strip() else pieces
