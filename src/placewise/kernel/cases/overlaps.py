"""Arguments that share memory on the host share it on the device, too.

``k(a, a)``, ``k(a, a[10:])`` or ``k(a[:20], a[10:])`` is one array with two pointers into it. Where
the kernel writes one of them, copies of their own would compute something else than the caller's
launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.cases.values import POINTER
from placewise.kernel.launch import ArrayArgument, Inputs, ScalarArgument, StoredPointer


def keep_overlaps(
    inputs: Inputs, is_written: Callable[[str], bool]
) -> tuple[Inputs, tuple[str, ...]]:
    """``inputs`` with pointers in place of arrays that share memory with another argument, where
    ``is_written`` says that the kernel may write one of the two; and notes on them.

    Of arrays that hang together so, the one that begins first stays an array. It gets what lies
    behind it, where others reach beyond its end. ``inputs`` have the parameters' names. Raises
    CaseError where an array begins inside an element of that one, so that no pointer says where.
    """
    arrays = [a for a in inputs.arrays if a.data.nbytes and not a.uninitialised and not a.pointers]
    made: dict[str, ArrayArgument | ScalarArgument] = {}
    notes: list[str] = []
    for group in _groups(arrays, is_written):
        holder = group[0].argument
        joined = _joined(group)
        made[holder.name] = replace(holder, data=joined)
        for member in group[1:]:
            element = _element(member, group[0])
            name = member.argument.name
            stored = (StoredPointer(0, holder.name, element),)
            made[name] = ScalarArgument(name, POINTER.type(0), stored)
            where = f"'{holder.name}'" + (f" from element {element} on" if element else "")
            notes.append(
                f"'{name}' is the memory of {where}, as passed; the kernel writes there, so that "
                "neither can move"
            )
        if joined is not holder.data:
            notes.append(
                f"'{holder.name}' is taken with the memory behind it that others reach: "
                f"{joined.size} elements, of which {holder.data.size} were passed"
            )
    if not made:
        return inputs, ()
    arguments = tuple(made.get(a.name, a) for a in inputs.arguments)
    return replace(inputs, arguments=arguments), tuple(notes)


@dataclass(frozen=True, eq=False)
class _Member:
    """An array and its place in the host's memory, in bytes."""

    argument: ArrayArgument
    start: int
    end: int


def _groups(
    arrays: Iterable[ArrayArgument], is_written: Callable[[str], bool]
) -> list[list[_Member]]:
    """Arrays that must stay together, those that begin first, and of these the longest, in front:
    they overlap, the kernel writes one of the two, or both overlap with others so."""
    groups: list[list[_Member]] = []
    for one in sorted(map(_member, arrays), key=lambda m: (m.start, -m.end)):
        touched = [g for g in groups if any(_must_share(one, other, is_written) for other in g)]
        groups = [g for g in groups if g not in touched]
        groups.append(sorted((m for g in [*touched, [one]] for m in g), key=_order))
    return [g for g in groups if len(g) > 1]


def _order(member: _Member) -> tuple[int, int]:
    return member.start, -member.end


def _must_share(one: _Member, two: _Member, is_written: Callable[[str], bool]) -> bool:
    overlap = one.start < two.end and two.start < one.end
    return overlap and (is_written(one.argument.name) or is_written(two.argument.name))


def _joined(group: list[_Member]) -> NDArray[np.generic]:
    """The memory of all arrays of a group, as elements of the first one's type."""
    first = group[0]
    data = first.argument.data
    end = max(member.end for member in group)
    if end == first.end:
        return data
    elements = -(-(end - first.start) // data.itemsize)
    content = np.zeros(elements * data.itemsize, np.uint8)
    for member in group:
        at = member.start - first.start
        own = np.ascontiguousarray(member.argument.data).reshape(-1).view(np.uint8)
        content[at : at + own.size] = own
    return content.view(data.dtype)


def _element(member: _Member, first: _Member) -> int:
    """Element of the first array's memory at which an array begins; raises CaseError where it
    begins inside one."""
    element, rest = divmod(member.start - first.start, first.argument.data.itemsize)
    if rest:
        raise CaseError(
            f"it shares memory with '{first.argument.name}', which the kernel writes, and begins "
            "inside an element of that",
            where=f"argument '{member.argument.name}'",
            hint="pass PointerTo into a buffer of bytes for both",
        )
    return element


def _member(argument: ArrayArgument) -> _Member:
    start = int(argument.data.__array_interface__["data"][0])
    return _Member(argument, start, start + argument.data.nbytes)
