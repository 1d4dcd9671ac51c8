"""Pieces of arrays of structs on a GPU: they have their own memory, and a kernel copies fields into
it and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.runtime.devices.pieces import Piece, Stripe

KERNEL = "copy_fields"
SOURCE = """
struct Stripe { long long width, at, step, to, row, lanes, piece, unit; };

template <typename Unit>
__device__ void copy(char *array, const Stripe &s, long long count, bool back) {
    long long each = s.width / sizeof(Unit);
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count * each; i += (long long)gridDim.x * blockDim.x) {
        long long element = i / each, byte = i % each * sizeof(Unit);
        Unit *here = (Unit *)(array + s.at + element * s.step + byte);
        Unit *there = (Unit *)((char *)s.piece + s.to + element / s.lanes * s.row
                               + element % s.lanes * s.width + byte);
        if (back) *here = *there;
        else *there = *here;
    }
}

extern "C" __global__ void copy_fields(char *array, const Stripe *stripes, long long count,
                                       int back) {
    const Stripe s = stripes[blockIdx.y];
    if (s.unit == 4) copy<int>(array, s, count, back);
    else copy<char>(array, s, count, back);
}
"""
_THREADS = 256

Queue = Callable[[Launch, list[NDArray[Any]]], None]
"""A function that queues the copying kernel. It takes the launch and the parameters, each as an
array with its value."""


@dataclass(frozen=True)
class Fields:
    """The copies for all pieces of one array."""

    argument: int
    """Number of the array among the original's arguments, from 0."""
    elements: int
    table: int
    """Device address of the table of stripes that the kernel reads."""
    stripes: int
    units: int
    """Length of the widest field in the units (words or bytes) that the kernel copies."""


def compile_copy(arch: str, nvrtc: str) -> Kernel:
    """Compile the copying kernel for a GPU."""
    return compile_kernel(SOURCE, "pieces.cu", KERNEL, CompileOptions(arch=arch, nvrtc=nvrtc))


def fields_table(pieces: Sequence[tuple[Piece, int]]) -> NDArray[np.int64]:
    """The table of stripes for one array's ``pieces``, which are given with their device addresses;
    shape (stripes, 8)."""
    rows = [
        (*_numbers(stripe), address, _unit(stripe))
        for piece, address in pieces
        for stripe in piece.stripes
    ]
    return np.array(rows, np.int64)


def fields_of(pieces: Sequence[Piece], table: int) -> Fields:
    """One array's pieces, whose :func:`fields_table` is at address ``table``."""
    stripes = [s for piece in pieces for s in piece.stripes]
    units = max(s.width // _unit(s) for s in stripes)
    return Fields(pieces[0].argument, pieces[0].elements, table, len(stripes), units)


def queue_copy(queue: Queue, array: int, fields: Fields, *, back: bool) -> None:
    """Queue the copy of all fields from the array at address ``array`` to its pieces, or back."""
    blocks = -(-fields.elements * fields.units // _THREADS)
    launch = Launch((min(blocks, 1 << 20), fields.stripes, 1), (_THREADS, 1, 1))
    addresses = [np.array([a], np.uint64) for a in (array, fields.table)]
    queue(launch, [*addresses, np.array([fields.elements]), np.array([back], np.int32)])


def _numbers(stripe: Stripe) -> tuple[int, ...]:
    return stripe.width, stripe.at, stripe.step, stripe.to, stripe.row, stripe.lanes


def _unit(stripe: Stripe) -> int:
    """Bytes that the kernel copies at a time: 4 where the field can be copied in words, else 1."""
    numbers = (stripe.width, stripe.at, stripe.step, stripe.to, stripe.row)
    return 1 if any(n % 4 for n in numbers) else 4
