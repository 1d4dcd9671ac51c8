"""What a pointer parameter is used for: its accesses, and the local pointers that start from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from placewise.kernel.source import AccessPlace, Alias, Term
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import IndexTerm
from placewise.space import Way


@dataclass(frozen=True)
class Access:
    """An access with the nodes behind its text."""

    place: AccessPlace
    node: Node
    pointer: Node
    """The pointer that the terms are added to."""
    terms: tuple[IndexTerm, ...]
    variable: PointerVariable
    """The parameter, or the alias of it, that the access goes through."""


@dataclass(eq=False)
class PointerVariable:
    """The parameter or an alias of it. Aliases in different blocks may have the same name."""

    name: str
    id: int
    declaration: Node
    base: PointerVariable | None = None
    """The parameter or alias that it starts from."""
    pointer: Node | None = None
    """The pointer that it starts from, as its initialiser has it."""
    terms: tuple[IndexTerm, ...] = ()
    places: tuple[Term, ...] = ()
    element: str = ""
    """Type of what it points to."""
    changed: int | None = None
    """Line where it is changed after its declaration."""
    tokens: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Uses:
    """All that was found on one parameter."""

    accesses: list[Access]
    variables: list[PointerVariable]
    """The parameter first, then its aliases in order."""
    obstacles: dict[Way, str]
    reinterpreted: bool = False
    """Some pointer into it points to elements of another type."""

    def aliases(self) -> tuple[Alias, ...]:
        """The aliases as the view shows them."""
        return tuple(_alias(v) for v in self.variables[1:])


def element_type(node: Node) -> str:
    """Pointee of a pointer's canonical type, without qualifiers."""
    text = node.type.strip()
    if text.endswith("__restrict"):
        text = text.removesuffix("__restrict").strip()
    text = re.sub(r"\s*\*\s*(const)?$", "", text)
    return re.sub(r"\b(const|volatile)\b\s*", "", text).strip()


def _alias(variable: PointerVariable) -> Alias:
    declaration = variable.declaration
    statement = declaration.parent or declaration
    pointer = variable.pointer or declaration
    return Alias(
        name=variable.name,
        pointer=variable.base.name if variable.base else "",
        pointer_start=pointer.start,
        pointer_end=pointer.end,
        terms=variable.places,
        line=declaration.line,
        start=statement.start,
        end=statement.end,
        fixed=variable.changed is None,
        tokens=tuple(sorted(variable.tokens)),
    )
