"""Coarse-grained versions: for each placement a whole kernel beside the original.

Their arrays in constant memory are members of one union, since only one version is in use at a time
and constant memory is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument, TextureArgument
from placewise.kernel.source import ArrayUse, SourceView
from placewise.machine import Machine
from placewise.rewriter.agnostic.kernel_text import renamed_kernel
from placewise.rewriter.agnostic.names import AgnosticNames
from placewise.rewriter.draft import Draft
from placewise.rewriter.rewrite import draft_placement
from placewise.rewriter.ways.host_buffer import ALIGNMENT, aligned_offsets, stand_for
from placewise.space import MemorySpace, Placement

CONSTANT = "__constant__"
"""Declaration of constant memory, the only memory filled by the host that versions can share."""


@dataclass(frozen=True)
class ConstantMember:
    """An array in the constant memory of one version."""

    use: ArrayUse
    offset: int
    """First byte in the buffer."""


@dataclass(frozen=True, eq=False)
class CoarseVersion:
    """A kernel with its arrays in one placement."""

    number: int
    """From 1."""
    kernel: str
    """Name of the kernel in the source."""
    placement: Placement
    machines: tuple[str, ...]
    """Machines that it is the best form for."""
    draft: Draft
    text: str
    """The definition of the version's kernel."""
    members: tuple[ConstantMember, ...]
    constant_bytes: int

    @property
    def textures(self) -> dict[str, str]:
        """Name of the texture parameter by array."""
        made = self.draft.arguments.items()
        return {array: a.name for array, a in made if isinstance(a, TextureArgument)}

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Arguments of the version's kernel for the case's inputs."""
        made = (self.draft.arguments.get(a.name, a) for a in self.draft.case.inputs.arguments)
        return tuple(a for a in made if a is not None)

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the arguments, in the order of the version's parameters."""
        return tuple(a.name for a in self.arguments)

    @property
    def constant_data(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """(constant_bytes,) content of the version's constant memory for the case's inputs."""
        data = np.zeros(self.constant_bytes, np.uint8)
        for member in self.members:
            held = np.ascontiguousarray(self.draft.data_of(member.use)).reshape(-1).view(np.uint8)
            data[member.offset : member.offset + held.size] = held
        return data

    @property
    def struct(self) -> str | None:
        """Declaration of the version's member of the union in constant memory; None where the
        version uses no constant memory."""
        if not self.members:
            return None
        fields = " ".join(
            f"alignas({ALIGNMENT}) {m.use.parameter.element_type} {m.use.name}[{m.use.elements}];"
            for m in self.members
        )
        return f"struct {{ {fields} }} v{self.number};"


def coarse_version(
    number: int, case: Case, view: SourceView, machine: Machine, placement: Placement,
    names: AgnosticNames, machines: tuple[str, ...],
) -> CoarseVersion:  # fmt: skip
    """The kernel written with ``placement``. Raises UnsupportedError where it cannot be written
    so."""
    members: list[ConstantMember] = []
    sizes: list[int] = [0]

    def in_union(
        draft: Draft, uses: list[ArrayUse], space: MemorySpace, capacity: int | None
    ) -> None:
        declaration = space.declaration or CONSTANT
        if declaration != CONSTANT or members:
            raise UnsupportedError(
                f"arrays in {space.name} memory, declared {declaration}, cannot be switched",
                where=case.filename,
            )
        *offsets, end = aligned_offsets(draft, uses)
        if capacity is not None and view.constant_bytes + end > capacity:
            raise UnsupportedError(
                f"the arrays in {space.name} memory take {end} bytes together, of {capacity}",
                where=case.filename,
            )
        sizes[0] = end
        for use, offset in zip(uses, offsets, strict=True):
            stand_for(draft, use, f"{names.constants}.v{number}.{use.name}")
            members.append(ConstantMember(use, offset))
            draft.notes.append(f"{use.name}: {space.name} memory, filled by the host")

    by_row = next((a for a, s in placement if machine.space(s).way.facts.by_row), None)
    if by_row is not None:
        raise UnsupportedError(
            f"array '{by_row}' in {placement[by_row]} memory cannot be switched: its rows are of "
            "one width",
            where=case.filename,
        )
    draft = draft_placement(case, placement, machine, view, in_union)
    kernel = names.version(number)
    text = renamed_kernel(draft, names.kernel, kernel)
    return CoarseVersion(number, kernel, placement, machines, draft, text, tuple(members), sizes[0])
