"""Launch shape and the arguments of one kernel launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.texture import SurfaceArgument, TextureArgument
from placewise.short_repr import ShortRepr

__all__ = [
    "AccessWindow",
    "Argument",
    "ArrayArgument",
    "Inputs",
    "Launch",
    "ScalarArgument",
    "SurfaceArgument",
    "TextureArgument",
]

Dim3 = tuple[int, int, int]
MOST_LISTED = 1 << 26
"""Most blocks of a launch for which a list with an entry for each block is kept, such as whether it
is traced."""


@dataclass(frozen=True)
class AccessWindow:
    """The access policy window of L2 that a launch has (``cudaAccessPolicyWindow``): a range of
    an array, of which L2 is asked to keep a share of the lines."""

    array: str
    size_bytes: int
    """Size of the window, which starts where the array does."""
    hit_ratio: float
    """Share of its lines that are persisting; the others are streaming."""
    set_aside_bytes: int
    """L2 that is set aside for persisting accesses (``cudaLimitPersistingL2CacheSize``)."""


@dataclass(frozen=True)
class Launch:
    """Grid and block in blocks and threads (x, y, z), dynamic shared memory in bytes."""

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0
    window: AccessWindow | None = None

    def __post_init__(self) -> None:
        for what, dims in (("grid", self.grid), ("block", self.block)):
            if len(dims) != 3 or any(not isinstance(d, int | np.integer) or d < 1 for d in dims):
                raise CaseError(
                    f"{what} {dims} must have three whole dimensions of at least 1", where=what
                )
        if self.shared_bytes < 0:
            raise CaseError("dynamic shared memory must not be negative", where="shared_bytes")

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        return -(-self.threads_per_block // 32)


def too_many_blocks(launch: Launch) -> UnsupportedError:
    """The error for a launch whose blocks must be listed, and are more than ``MOST_LISTED``."""
    return UnsupportedError(
        f"a grid of {launch.blocks} blocks; at most {MOST_LISTED} can be traced",
        where="grid",
        hint="give a smaller grid: its blocks stand for those of a larger one",
    )


@dataclass(frozen=True)
class StoredPointer:
    """A pointer inside an argument: 8 bytes at byte ``at`` hold the address of ``array``'s element
    ``element`` (which may be one past the end)."""

    at: int
    array: str
    element: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class ArrayArgument(ShortRepr):
    """A device array passed by pointer; ``data`` is C-contiguous, its initial content."""

    name: str
    data: NDArray[np.generic]
    pointers: tuple[StoredPointer, ...] = ()
    uninitialised: bool = False
    """Only the shape and type of ``data`` count. The device memory starts uninitialised."""

    def _in_short(self) -> str:
        return f"{self.name}: {self.data.dtype}, shape {self.data.shape}"


@dataclass(frozen=True, eq=False)
class ScalarArgument:
    """A scalar (or structured scalar) passed by value; a pointer is one, too."""

    name: str
    value: np.generic
    pointers: tuple[StoredPointer, ...] = ()


Argument = ArrayArgument | ScalarArgument | TextureArgument | SurfaceArgument


@dataclass(frozen=True, eq=False, repr=False)
class Inputs(ShortRepr):
    """What a launch reads: arguments in parameter order, and ``__constant__`` symbols by name."""

    arguments: tuple[Argument, ...]
    constants: tuple[tuple[str, NDArray[np.generic]], ...] = ()
    buffers: tuple[ArrayArgument, ...] = ()
    """Arrays that are no arguments themselves, but that pointers lead to."""
    constant_pointers: tuple[tuple[str, StoredPointer], ...] = ()
    """Pointers inside the constants, by symbol."""

    def _in_short(self) -> str:
        return ", ".join(argument.name for argument in self.arguments)

    @property
    def pointers(self) -> tuple[tuple[str, StoredPointer], ...]:
        """Every stored pointer, with the name of what holds it."""
        holders = (a for a in self.arguments if isinstance(a, ArrayArgument | ScalarArgument))
        stored = [(h.name, p) for h in (*holders, *self.buffers) for p in h.pointers]
        return (*stored, *self.constant_pointers)

    @property
    def pointer_arguments(self) -> tuple[tuple[str, str], ...]:
        """(argument, array) for every argument that is a pointer into an array of the launch."""
        scalars = (a for a in self.arguments if isinstance(a, ScalarArgument))
        plain = (a for a in scalars if a.value.dtype == np.uint64 and len(a.pointers) == 1)
        return tuple((a.name, a.pointers[0].array) for a in plain)

    @property
    def array_bytes(self) -> tuple[tuple[str, int], ...]:
        """Sizes of all arrays by name: arguments, textures and surfaces, buffers, constants."""
        arrays = (a for a in self.arguments if not isinstance(a, ScalarArgument))
        sizes = [(a.name, a.data.nbytes) for a in (*arrays, *self.buffers)]
        return (*sizes, *((name, data.nbytes) for name, data in self.constants))

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))
