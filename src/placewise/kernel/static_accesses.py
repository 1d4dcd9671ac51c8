"""The global accesses of one thread in program order, as its source tells without a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class StaticIndex:
    """An array index as ``sum of coefficient × symbol + constant``, in elements.

    Symbols that are the same for all threads, such as parameters and products of them, only
    matter where two indices are compared.
    """

    thread: int | None
    """Coefficient of the thread number: elements between neighbouring threads. None: not known."""
    uniform: tuple[tuple[str, int], ...] = ()
    """(symbol, coefficient) of what all threads share: parameters, block indices."""
    loops: tuple[tuple[str, int | None], ...] = ()
    """(loop, change of the index from one iteration to the next); None where it is not a fixed
    number."""
    constant: int = 0
    opaque: bool = False
    """A symbol depends on data: it may change with every iteration of a loop around it."""


@dataclass(frozen=True)
class StaticAccess:
    """One access to a field of an element of an array of structs, or to an array of numbers."""

    array: str
    field: str
    """Empty for an array of numbers."""
    is_store: bool
    index: StaticIndex
    line: int
    element_bytes: int = 4
    """Size of an element of an array of numbers; not used where there is a field."""


@dataclass(frozen=True)
class StaticLoop:
    """A loop around accesses and further loops."""

    name: str
    """Unlike that of any other loop."""
    length: int | None
    """Iterations; None where the source does not tell."""
    body: tuple[StaticAccess | StaticLoop, ...]
    line: int


@dataclass(frozen=True)
class StaticProgram:
    """What one thread of a kernel accesses."""

    body: tuple[StaticAccess | StaticLoop, ...]
    assumed: tuple[str, ...]
    """What the analysis took for granted, with lines."""

    def accesses(self) -> Iterator[StaticAccess]:
        """All accesses, those inside loops too, in no particular order."""
        todo = list(self.body)
        while todo:
            item = todo.pop()
            if isinstance(item, StaticLoop):
                todo += item.body
            else:
                yield item
