"""What the source says of a kernel's arrays: where each is accessed, and how it may be rewritten.

All offsets are half-open byte ranges of the UTF-8 source text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placewise.space import Way

if TYPE_CHECKING:
    from placewise.kernel.chunks import ChunkPlan


@dataclass(frozen=True)
class Member:
    """A member of a struct, ``offset`` bytes from its start."""

    name: str
    offset: int


@dataclass(frozen=True)
class Scalar:
    """A number or address in an element, ``offset`` bytes from the element's start."""

    offset: int
    bytes: int
    dtype: str
    """NumPy dtype name; empty where it is not known what lies there, as in a union."""


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter as declared."""

    name: str
    type_text: str
    """Type after template arguments and typedefs are resolved, e.g. ``const float *``."""
    is_pointer: bool
    element_type: str
    """Pointee type without qualifiers (``float``), or the value type of a scalar parameter."""
    element_bytes: int
    element_dtype: str | None
    """NumPy dtype name of the element (``float32``), None for structs and other types."""
    start: int = 0
    end: int = 0
    """The declaration in the parameter list."""
    fields: tuple[Member, ...] = ()
    """Members of an element that is a struct."""
    scalars: tuple[Scalar, ...] = ()
    """What an element consists of, by offset; empty where that is not known."""


@dataclass(frozen=True)
class Term:
    """One summand of an index: an expression of the source with its sign."""

    sign: int
    start: int
    end: int
    loose: bool
    """Its operator binds less tightly than ``*``, so that it needs parentheses as a factor or
    behind a minus sign."""
    very_loose: bool = False
    """Its operator binds less tightly than ``+``: parentheses as a summand, too."""
    literal: str = ""
    """A number to write in place of the text: the number of rows, where the term is a multiple of
    the pitch (``1`` for ``n`` in ``at + n``, where a row has ``n`` elements)."""


@dataclass(frozen=True)
class AccessPlace:
    """One access expression in the source: ``A[i]``, ``*A``, ``row[k]`` …

    The element's index is that of ``pointer`` plus the sum of ``terms``.
    """

    line: int
    column: int
    start: int
    end: int
    kind: str
    """load, store, update (``A[i] += x``) or atomic."""
    pointer: str
    """The parameter, or the alias of it that the access goes through."""
    pointer_start: int
    pointer_end: int
    """The pointer as it stands there, a step included (``p++``)."""
    terms: tuple[Term, ...]
    form: str
    """How it is written: element (``p[i]``), dereference (``*p``) or pointer (``p + i``, ``&p[i]``,
    the argument of a load function or an atomic)."""
    outer_start: int
    outer_end: int
    """The whole load where it is wrapped already (``__ldg(&A[i])``), else start and end."""
    intrinsic: str | None
    """The load function it is wrapped in already."""
    member_end: int
    """End of the members read of the element (``A[i].x``), else ``end``."""
    member_type: str
    """Type of what is read or written: the element's, or that of its member."""


@dataclass(frozen=True)
class Alias:
    """A local pointer into an array, ``const float *row = A + i * n;``."""

    name: str
    pointer: str
    """The parameter or earlier alias that it starts from."""
    pointer_start: int
    pointer_end: int
    terms: tuple[Term, ...]
    line: int
    start: int
    end: int
    """The whole declaration statement."""
    fixed: bool
    """Never changed after its declaration."""
    tokens: tuple[int, ...]
    """Offsets of its name where it is used."""


@dataclass(frozen=True)
class Split:
    """An index as row and column: ``row * pitch + column``, each a sum of terms."""

    row: tuple[Term, ...]
    column: tuple[Term, ...]


@dataclass(frozen=True)
class Extent:
    """Rows or columns of a tile that the kernel can ask for, where that is less than the tile.

    Texts are C++ expressions like those of :class:`Tile`, from the source's own conditions and
    loop bounds: a row or column ``x`` is asked for only where ``x >= lower`` for each of
    ``lowers`` and ``x < upper`` for each of ``uppers``.
    """

    lowers: tuple[str, ...] = ()
    uppers: tuple[str, ...] = ()


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
    within_rows: bool = True
    """Accessed columns lie in [0, pitch) in every block."""
    splits: tuple[Split, ...] = ()
    """Row and column of every access, in the order of the array's accesses (two dimensions)."""
    row_extent: Extent = Extent()
    column_extent: Extent = Extent()
    index_extent: Extent = Extent()
    """What conditions say of the index itself, in two dimensions: ``row * pitch + column < n``."""
    inside: bool = False
    """What the extents leave of the tile lies inside the array in every block of the launch,
    so that a fill needs no other guard."""
    bound_to: tuple[str, ...] = ()
    """Whole-number arguments, and dimensions of the grid, that the tile rests on; it also rests on
    the shape of the launch's blocks."""
    written_whole: bool = False
    """Exactly one thread writes each element that the extents leave. In a tile for the whole kernel
    nothing reads one, either: nothing needs to be filled in before."""
    merge: str = ""
    """Where blocks update shared elements by one atomic function of whole numbers alone: that
    function. Each block's tile is then a copy of its own, merged into the array at the end."""
    wide: bool = True
    """An index of the source has 64 bits."""
    lanes_down: bool = False
    """Neighbouring lanes of a warp go to neighbouring rows: along a column."""
    padding: int = 0
    """Elements behind each row in shared memory, so that lanes that go along a column meet in
    different banks."""

    @property
    def stride(self) -> int:
        """Elements from one row to the next in shared memory."""
        return self.width + self.padding

    @property
    def held(self) -> int:
        """Elements that it takes in shared memory, those behind each row included."""
        return self.rows * self.stride

    def bytes(self, element_bytes: int) -> int:
        """Shared memory that the tile takes, in whole groups of 16 bytes: the compiler may read
        that many at once."""
        return -(-self.held * element_bytes // 16) * 16


@dataclass(frozen=True)
class RowSplit:
    """An array seen as rows of ``pitch`` elements: every access names a row and a column, and the
    column lies inside the row."""

    pitch: int
    """For the case's arguments."""
    pitch_text: str
    """The pitch as a C++ expression of kernel parameters."""
    splits: tuple[Split, ...]
    """Row and column of every access, in the order of the array's accesses."""
    bound_to: tuple[str, ...] = ()
    """Whole-number arguments, and dimensions of grid and block, that the columns' bounds rest on.
    """


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
    present: Way = Way.DIRECT
    """How the source reaches it now: DIRECT, or INTRINSIC where every load goes through the same
    load function."""
    load_function: str | None = None
    """The load function through which it is accessed, such as ``__ldg``."""
    tokens: tuple[int, ...] = ()
    """Offsets of the parameter's name where it is used in the body."""
    aliases: tuple[Alias, ...] = ()
    reassigned: bool = False
    """The parameter itself is changed in the body (``A += n``)."""
    elements: int = 0
    """Elements of the case's argument."""
    inlined: bool = False
    """Whether offsets are those of the source in :attr:`SourceView.inlined`, where calls of device
    functions are written out."""
    as_written: ArrayUse | None = None
    """Where ``inlined``: the use in the source as it is, which does for the ways that nothing
    obstructs there."""
    read_as: str = ""
    """Type of the elements as which the whole body reads the array, where its parameter is declared
    with another: ``float4`` of an array of floats. ``parameter`` has this element type."""
    reinterpreted: bool = False
    """Some accesses, but not all, read elements of another type than the parameter's."""
    rows: RowSplit | None = None
    """The array as rows and columns; None where an obstacle to textures of two dimensions says why
    not."""

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def pointer_text(self) -> str:
        """The array as a pointer to its elements, in C++: its name, cast where it is read as
        elements of another type."""
        cast = f"reinterpret_cast<const {self.read_as} *>"
        return f"{cast}({self.name})" if self.read_as else self.name

    def obstacle(self, way: Way) -> str | None:
        """Why ``way`` is impossible in the source, or None."""
        return dict(self.obstacles).get(way)


@dataclass(frozen=True)
class DeclaredConstant:
    """A ``__constant__`` variable that the source declares."""

    name: str
    start: int
    end: int
    """The word ``__constant__`` in its declaration; 0 and 0 where it is not in the file's text."""
    line: int
    obstacle: str | None = None
    """Why its declaration cannot be changed."""
    is_device: bool = False
    """``__device__`` stands in its declaration, too."""
    elements: Parameter | None = None
    """What it holds, as a pointer to its first element; None where that is not known."""
    initialised: bool = False
    """Its declaration gives it a value."""


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
    returns_early: int | None = None
    """Line of the first ``return`` in the body, None if there is none."""
    has_barrier: bool = False
    """The body, or a function of the same file that it calls, synchronises the block or a warp."""
    constant_bytes: int = 0
    """``__constant__`` memory that the source declares already."""
    shared_bytes: int = 0
    """Static ``__shared__`` memory that the kernel and the file's device functions declare."""
    in_namespace: bool = False
    prototypes: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Byte ranges of the parameters of each prototype of the kernel in its file."""
    declared_in: tuple[str, ...] = ()
    """Places of its prototypes in included files, ``header.h:12``."""
    chunk_plans: tuple[ChunkPlan, ...] = ()
    """Ways to run loops in chunks, with shared tiles of what a chunk reads or writes."""
    constants: tuple[DeclaredConstant, ...] = ()
    """``__constant__`` variables that the kernel, or a device function of its file, names."""
    shared: tuple[str, ...] = ()
    """Names of the shared arrays that the kernel's body declares."""
    inlined: InlinedView | None = None
    """The source with calls of device functions written out, where arrays can be followed further
    so. Its arrays have ``inlined`` set."""

    def array(self, name: str) -> ArrayUse:
        """Use of array ``name``; raises KeyError for an unknown one."""
        return {a.name: a for a in self.arrays}[name]


@dataclass(frozen=True)
class InlinedView:
    """A kernel's file with calls of device functions written out, and what it says."""

    source: str
    view: SourceView


def source_obstacle(
    view: SourceView, array: str, way: Way, *, writable: bool = False
) -> str | None:
    """Why the source's ``array`` cannot be reached in ``way``, or None where it can. ``writable``:
    loads of the space see what the kernel writes, as is so of cache hints.

    Raises KeyError for an unknown array.
    """
    use = view.array(array)
    if way.facts.by_load_function and not writable:
        line = next((a.line for a in use.accesses if a.kind != "load"), None)
        if line is not None:
            return f"written (line {line})"
    if way == use.present:
        return None
    obstacle = use.obstacle(way)
    if obstacle is None and way.facts.per_block and use.tile is None:
        return use.tile_obstacle
    if obstacle is None and way.facts.by_row and use.rows is None:
        return "no index of rows and columns"
    return obstacle
