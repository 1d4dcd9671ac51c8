"""Ways of access, and all that the rest of the program knows of each.

To add a way: a member of :class:`Way`, its :class:`WayFacts` in :func:`_facts`, a module of
:mod:`placewise.rewriter` that writes it, and ``space`` entries in machine files. The type checker
reports the places that must treat each way by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


@dataclass(frozen=True)
class ImpliedSpace:
    """The space that a memory's name implies, in a machine file without ``space`` entries."""

    part: str
    """What the memory's name contains, in lower case."""
    name: str
    letter: str
    path: str
    """The data path, one of Kepler's three (Chen et al. 2017, section 3.1.2)."""


@dataclass(frozen=True)
class WayFacts:
    """What holds for every space that is reached in one way."""

    state_space: str
    """State space of its loads: ``global``, ``texture``, ``constant`` or ``shared``."""
    implied: ImpliedSpace
    by_pointer: bool = False
    """Accesses go through a pointer parameter, to global memory."""
    by_load_function: bool = False
    """Loads through that pointer call a function such as ``__ldg``."""
    replaces_parameter: bool = False
    """The host sets it up before the launch, in place of the pointer parameter: an object or a
    buffer that the kernel cannot write to."""
    host_filled: bool = False
    """Arrays are buffers at file scope, into which the host copies; together they must fit."""
    per_block: bool = False
    """Each block has its own buffer, a tile, which its threads fill."""
    texels: bool = False
    """Loads fetch texels, so that the element type must be a texel type."""
    by_row: bool = False
    """An access needs a row and a column, in place of an index. Traffic is that of the texture with
    one dimension, so that a model of it cannot tell the two apart."""
    indexed: bool = False
    """An access needs the element's index: a pointer to an element will not do."""
    host_window: bool = False
    """The kernel stays as it is; the host sets an access policy window of L2 over the array. A
    launch has one."""
    by_hand: bool = False
    """No code is written for it: an array's place there is recommended, and the programmer moves
    it."""
    declaration: str | None = None
    """How it is declared, where a machine file does not say."""
    load_function: str | None = None
    """Function that reads an element, where a machine file does not say."""
    edit_size: int = 0
    """How much of a program a move there changes, to compare: loads alone (1), declarations and a
    copy on the host (2), objects that the host makes (3), the kernel's body (4)."""


class Way(StrEnum):
    """The five ways of access of PORPLE-C (Chen et al. 2017, section 4, item 5), textures of two
    dimensions, the access policy window of L2, which changes no access, and any other way."""

    DIRECT = "direct"
    """Plain indexing of a pointer parameter (global memory)."""
    INTRINSIC = "intrinsic"
    """A pointer parameter read through an intrinsic (read-only cache)."""
    BINDING = "binding"
    """An object bound on the host, read through an intrinsic (texture)."""
    PITCHED = "pitched"
    """An object bound on the host over rows of an array, read through an intrinsic by column and
    row (texture of two dimensions)."""
    HOST_BUFFER = "host_buffer"
    """A buffer declared at file scope and filled by the host (constant)."""
    KERNEL_BUFFER = "kernel_buffer"
    """A per-block buffer declared and filled in the kernel (shared)."""
    WINDOW = "window"
    """An access policy window of L2 that the host sets (persisting)."""
    OTHER = "other"
    """Unlike all of these: the programmer moves the array (section 4 of the paper, last item)."""

    @property
    def facts(self) -> WayFacts:
        """What holds for every space that is reached in this way."""
        return _FACTS[self]

    @property
    def is_plain(self) -> bool:
        """Pointers are indexed as they come: where arrays are before anything moves them."""
        return self.facts.by_pointer and not self.facts.by_load_function

    @property
    def has_own_memory(self) -> bool:
        """Loads go past the caches of data, to constant or shared memory or to one of its own."""
        return self.facts.host_filled or self.facts.per_block or self.facts.by_hand

    @property
    def can_be_written(self) -> bool:
        """The kernel can store to an array there, where the memory allows it."""
        return self.is_plain or self.facts.per_block or self.facts.by_hand


# A table: one case for each way of access.
def _facts(way: Way) -> WayFacts:
    match way:
        case Way.DIRECT:
            return WayFacts(
                "global", ImpliedSpace("global", "global", "G", "global"), by_pointer=True
            )
        case Way.INTRINSIC:
            return WayFacts(
                "global",
                ImpliedSpace("readonly", "readonly", "R", "texture"),
                by_pointer=True,
                by_load_function=True,
                load_function="__ldg",
                edit_size=1,
            )
        case Way.BINDING:
            return WayFacts(
                "texture",
                ImpliedSpace("tex", "texture", "T", "texture"),
                replaces_parameter=True,
                texels=True,
                indexed=True,
                declaration="cudaTextureObject_t",
                load_function="tex1Dfetch",
                edit_size=3,
            )
        case Way.PITCHED:
            return WayFacts(
                "texture",
                # No memory's name has a blank: a file must say which memory is reached so.
                ImpliedSpace("rows of texels", "texture2d", "Q", "texture"),
                replaces_parameter=True,
                texels=True,
                by_row=True,
                indexed=True,
                declaration="cudaTextureObject_t",
                load_function="tex2D",
                edit_size=3,
            )
        case Way.HOST_BUFFER:
            return WayFacts(
                "constant",
                ImpliedSpace("const", "constant", "C", "constant"),
                replaces_parameter=True,
                host_filled=True,
                declaration="__constant__",
                edit_size=2,
            )
        case Way.KERNEL_BUFFER:
            return WayFacts(
                "shared",
                ImpliedSpace("shared", "shared", "S", "global"),
                per_block=True,
                indexed=True,
                declaration="__shared__",
                edit_size=4,
            )
        case Way.WINDOW:
            return WayFacts(
                "global",
                ImpliedSpace("persist", "persisting", "P", "global"),
                by_pointer=True,
                host_window=True,
                edit_size=2,
            )
        case Way.OTHER:
            return WayFacts(
                # No memory's name has a blank: a file must say which memory is reached so.
                "global", ImpliedSpace("any other", "other", "O", "other"), by_hand=True,
                edit_size=5,
            )  # fmt: skip
        case _:
            assert_never(way)


_FACTS = {way: _facts(way) for way in Way}
