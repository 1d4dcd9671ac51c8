"""The basic terms of the static cost (Peng, Grossman and Sarkar 2016, sections IV-B to IV-F)."""

from __future__ import annotations

from placewise.memory.occupancy import WARP_SIZE

_SEGMENT = 128
"""Bytes of a transaction (section IV-D)."""


def transactions(stride_bytes: int | None) -> int:
    """Transactions of one warp's access whose neighbouring threads are ``stride_bytes`` apart
    (section IV-D): one where all access the same element or 4 bytes side by side, N for a stride of
    4 N bytes, one for each thread from 128 bytes on and where the stride is not known (None)."""
    if stride_bytes is None:
        return WARP_SIZE
    return min(WARP_SIZE, max(1, -(-abs(stride_bytes) * WARP_SIZE // _SEGMENT)))


def is_accordant(index_difference: int | None, struct_bytes: int, line_bytes: int) -> bool:
    """Whether two accesses to one array of structs certainly lie in one cache line (section IV-F):
    ``(|i - j| + 2) * sizeof(struct)`` is at most the line's size. None: not known."""
    if index_difference is None:
        return False
    return (abs(index_difference) + 2) * struct_bytes <= line_bytes


def instruction_distance(threads: int, bytes_per_thread: int) -> int:
    """Bytes that all threads that share a cache access between two accesses of a thread, both
    included (section IV-B-5). ``threads`` is the number of threads that share it: those of an SM's
    blocks for L1, those of the grid for L2.
    """
    return threads * bytes_per_thread


def blocks_per_sm(
    block_size: int, *, max_blocks: int, max_threads: int, registers_per_sm: int,
    registers_per_thread: int,
) -> int:  # fmt: skip
    """Blocks of ``block_size`` threads that one SM holds (section IV-E); at least 1."""
    by_threads = max_threads // block_size
    by_registers = registers_per_sm // registers_per_thread // block_size
    return max(1, min(max_blocks, by_threads, by_registers))
