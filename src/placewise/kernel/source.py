"""What the source says of a kernel's arrays: where each is accessed, and how it may be rewritten."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.space import Way


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter as declared."""

    name: str
    type_text: str
    """Type as written after template arguments and typedefs are resolved, e.g. ``const float *``."""
    is_pointer: bool
    element_type: str
    """Pointee type without qualifiers (``float``), or the value type of a scalar parameter."""
    element_bytes: int
    element_dtype: str | None
    """NumPy dtype name of the element (``float32``), None for structs and other types."""


@dataclass(frozen=True)
class AccessPlace:
    """One access expression in the source; offsets are half-open byte ranges of the source text."""

    line: int
    column: int
    start: int
    end: int
    index_start: int
    index_end: int
    """The index expression's text; equal offsets for ``*A`` (index 0)."""
    kind: str
    """load, store, update (``A[i] += x``) or atomic."""


@dataclass(frozen=True)
class Tile:
    """The piece of an array that one block touches, from the index expressions (interval
    arithmetic over threads and loops). Texts are C++ expressions valid at kernel entry, in terms
    of blockIdx, blockDim and kernel parameters; numbers hold for the case's launch.

    The tile is ``rows`` rows of ``width`` elements; element (r, c) is the array's element
    ``(row0 + r) * pitch + column0 + c``. A one-dimensional tile has one row.
    """

    whole: bool
    """The tile is the whole array, whatever the block."""
    rows: int
    width: int
    pitch: int
    """Elements between rows in the array (0 for one row)."""
    elements: int
    """rows * width: shared-memory elements per block, the largest over all blocks."""
    row0_text: str
    column0_text: str
    pitch_text: str
    disjoint: bool
    """No element belongs to two blocks' tiles (so a written tile can be copied back)."""

    def bytes(self, element_bytes: int) -> int:
        return self.elements * element_bytes


@dataclass(frozen=True)
class ArrayUse:
    """How the kernel's source uses one pointer parameter."""

    parameter: Parameter
    read: bool
    written: bool
    accesses: tuple[AccessPlace, ...]
    obstacles: tuple[tuple[Way, str], ...]
    """Why the source cannot be rewritten for a way of access: (way, reason with line)."""
    tile: Tile | None
    tile_obstacle: str | None
    """Why there is no per-block tile (index depends on data, ...), where ``tile`` is None."""

    @property
    def name(self) -> str:
        return self.parameter.name

    def obstacle(self, way: Way) -> str | None:
        """Why ``way`` is impossible in the source, or None."""
        return dict(self.obstacles).get(way)


@dataclass(frozen=True)
class SourceView:
    """The kernel definition as libclang sees it."""

    kernel: str
    parameters: tuple[Parameter, ...]
    arrays: tuple[ArrayUse, ...]
    """One per pointer parameter, in parameter order."""
    body_start: int
    body_end: int
    """Byte range of the kernel's body, braces included."""
    signature_start: int
    """Byte offset where the definition starts (template header and extern "C" included)."""

    def array(self, name: str) -> ArrayUse:
        """Use of array ``name``; raises KeyError for an unknown one."""
        return {a.name: a for a in self.arrays}[name]
