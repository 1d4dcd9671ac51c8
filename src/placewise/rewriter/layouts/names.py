"""Names that a layout gives to its structs, their arrays and the kernel's parameters."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from placewise.kernel.view.written_out.pieces import unique_name
from placewise.space.layout import Group, Layout

_LONGEST = 16
"""A group is named after its fields if their names together have at most this many letters."""


@dataclass(frozen=True)
class GroupNames:
    """Names of a group of fields in the rewritten source."""

    short: str
    """Name made of the group's fields, such as ``xyz``; ends names of parameters (``p_xyz``)."""
    type_name: str
    """Name of the group's struct, such as ``Particle_xyz``; empty where the group is one field."""
    pointer: str
    """Name of the layout's member that points to the group's array."""


@dataclass(frozen=True)
class LayoutNames:
    """Names of a layout and its groups in the rewritten source."""

    type_name: str
    groups: tuple[GroupNames, ...]
    fields: frozenset[str]
    source_words: frozenset[str]
    """Identifiers of the source."""

    def parameter(self, array: str, group: int) -> str:
        """Name of the kernel's parameter for the array of this group of ``array``."""
        return untaken(f"{array}_{self.groups[group].short}", self.source_words)

    def own(self, word: str) -> str:
        """``word`` as a name inside the layout's struct, where fields are functions."""
        return untaken(word, self.fields)


def untaken(name: str, taken: Collection[str]) -> str:
    """``name``, with underscores added as long as it is taken."""
    while name in taken:
        name += "_"
    return name


def is_struct(group: Group) -> bool:
    """Whether a group needs a struct: it has several fields, lanes, or an alignment of its own."""
    return len(group.fields) > 1 or group.lanes > 1 or group.align_bytes > 1


def layout_names(type_name: str, layout: Layout, taken: set[str]) -> LayoutNames:
    """Names for the layout that are not yet among the source's identifiers, ``taken``, to which
    they are added."""
    words = frozenset(taken)

    base = re.sub(r"\W+", "_", type_name).strip("_")
    groups = []
    for number, group in enumerate(layout):
        joined = "".join(group.fields)
        if len(group.fields) > 1:
            short = joined if len(joined) <= _LONGEST else f"part{number + 1}"
        else:
            short = group.fields[0]
        struct = unique_name(f"{base}_{short}", taken) if is_struct(group) else ""
        groups.append(GroupNames(short, struct, unique_name(f"{short}_array", taken)))
    fields = frozenset(name for group in layout for name in group.fields)
    return LayoutNames(unique_name(f"{base}_layout", taken), tuple(groups), fields, words)
