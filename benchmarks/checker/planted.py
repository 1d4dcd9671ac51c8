"""Launches of the kernels with planted mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.checker.corpus import Arguments, Dangling, Fresh, Planted, Symbol

F32, I32, U8 = np.float32, np.int32, np.uint8


def ones(n: int, dtype: Any = F32) -> Any:
    return np.ones(n, dtype)


def ramp(n: int, dtype: Any = F32) -> Any:
    """0, 1, 2, …: different values, so that no write is taken for one of the same value."""
    return np.arange(n, dtype=dtype)


def values(n: int, high: int) -> Any:
    return np.random.default_rng(7).integers(0, high, n).astype(I32)


def launch(
    file: str, kernel: str, grid: Any, block: Any, arguments: Mapping[str, Any], shared: int = 0
) -> Planted:
    def three(x: Any) -> tuple[int, int, int]:
        given = (x,) if isinstance(x, int) else tuple(x)
        return (*given, *(1,) * (3 - len(given)))  # type: ignore[return-value]

    made: Arguments = lambda: arguments  # noqa: E731
    return Planted(file, kernel, three(grid), three(block), made, shared)


def memory() -> list[Planted]:
    """Accesses outside of arrays, misaligned, to what cannot be written."""
    n = I32(1000)
    gap = ramp(256, I32)
    gap[200] = -1
    bins = values(512, 256)
    bins[300] = 256
    return [
        launch("memory.cu", name, grid, block, arguments, shared)
        for name, grid, block, arguments, shared in (
            ("off_by_one_in_last_block", 4, 256, {"a": ones(1000), "n": n}, 0),
            ("negative_index", 4, 256, {"in": ones(1000), "out": ones(1000), "n": n}, 0),
            (
                "index_overflows_int",
                4,
                256,
                {"a": ones(5000), "rows": n, "pitch": I32(4_000_000), "size": I32(5000)},
                0,
            ),
            (
                "stack_array_overrun",
                1,
                64,
                {"in": 10**8 + ramp(64, I32), "out": ones(64, I32), "n": I32(9)},
                0,
            ),
            ("shared_tile_overrun", 2, 128, {"in": ones(128), "out": ones(128)}, 0),
            ("dynamic_shared_too_small", 1, 64, {"in": ones(64), "out": ones(64)}, 128),
            ("misaligned_vector_load", 1, 32, {"in": ones(160), "out": ones(32)}, 0),
            ("misaligned_record", 1, 32, {"records": ones(32 * 16, U8), "size": I32(16)}, 0),
            (
                "vector_load_past_the_end",
                4,
                64,
                {"in": ones(1001), "out": ones(256), "n": I32(1001)},
                0,
            ),
            ("write_to_constant", 1, 32, {"w": Symbol("weights"), "out": ones(32)}, 0),
            ("null_pointer", 1, 32, {"in": ones(32), "bias": None, "out": ones(32)}, 0),
            ("dangling_pointer", 4, 32, {"rows": Dangling(4, 32, 2), "out": ones(128)}, 0),
            (
                "histogram_bin_too_far",
                2,
                256,
                {"values": bins, "bins": np.zeros(256, I32), "n": I32(512)},
                0,
            ),
            (
                "rows_and_columns_swapped",
                (4, 2),
                (16, 16),
                {"in": ones(60 * 30), "out": ones(60 * 30), "rows": I32(30), "columns": I32(60)},
                0,
            ),
            (
                "gather_of_missing",
                1,
                256,
                {"index": gap, "in": ones(256), "out": ones(256), "n": I32(256)},
                0,
            ),
            ("wrong_array_bound", 2, 64, {"x": ones(1000), "y": ones(1000), "n": n}, 0),
        )
    ]


def init() -> list[Planted]:
    """Reads of memory that was never written."""
    fresh = Fresh(64, F32)
    return [
        launch("init.cu", name, grid, block, arguments)
        for name, grid, block, arguments in (
            ("tail_of_shared_tile", 3, 128, {"in": ones(300), "out": ones(3), "n": I32(300)}),
            ("accumulates_into_fresh_memory", 1, 64, {"in": ones(64), "sum": fresh}),
            ("atomics_into_fresh_memory", 1, 64, {"in": values(64, 16), "bins": Fresh(16, I32)}),
            ("stack_array_half_filled", 1, 32, {"in": ones(64), "out": ones(32), "n": I32(12)}),
            ("padding_of_tile", 1, (8, 8), {"in": ones(64), "out": ones(64)}),
            (
                "borders_never_written",
                1,
                64,
                {"in": ones(64), "a": fresh, "b": fresh, "n": I32(64)},
            ),
            (
                "reads_past_the_valid_count",
                1,
                32,
                {"count": np.array([64], I32), "items": Fresh(65, F32), "out": ones(32)},
            ),
        )
    ]


def shared_races() -> list[Planted]:
    """Accesses of shared memory that nothing orders."""
    a, out = ramp(1024), ones(256)
    return [
        launch("shared_races.cu", name, grid, block, {"a": a, "out": out} | dict(more))
        if more is not None
        else launch("shared_races.cu", name, grid, block, {"a": ramp(256)})
        for name, grid, block, more in (
            ("reverse_without_barrier", 1, 256, None),
            ("tiles_overwritten_too_early", 1, 128, {"tiles": I32(4)}),
            ("double_buffer_misses_barrier", 1, 128, {"tiles": I32(4)}),
            ("last_warp_without_syncwarp", 1, 128, {}),
            ("volatile_is_no_syncwarp", 1, 32, {}),
            ("reduction_misses_barrier", 1, 256, {}),
            ("halo_across_warps", 1, 128, {}),
            ("scan_in_place", 1, 128, None),
            ("broadcast_without_barrier", 1, 96, {}),
            ("lanes_write_different_values", 1, 32, {}),
            ("barrier_of_two_warps_only", 1, 96, {}),
            ("tile_sync_is_too_small", 1, 32, {}),
            ("copy_not_awaited", 1, 64, {}),
            ("copy_awaited_by_its_thread_only", 1, 64, {}),
            ("pipeline_waits_for_too_few", 1, 64, {"tiles": I32(2)}),
        )
    ] + [
        launch(
            "shared_races.cu",
            "shared_histogram_without_atomics",
            2,
            128,
            {"values": values(256, 16), "bins": np.zeros(16, I32)},
        )
    ]


def global_races() -> list[Planted]:
    """Accesses of global memory by several warps or blocks that nothing orders."""
    a = ramp(512)
    duplicates = ramp(512, I32)
    duplicates[400] = 3
    last = {"a": a, "partial": ones(512), "out": np.zeros(1, F32)}
    return [
        launch("global_races.cu", name, grid, block, arguments)
        for name, grid, block, arguments in (
            (
                "histogram_without_atomics",
                4,
                128,
                {"values": values(512, 16), "bins": np.zeros(16, I32), "n": I32(512)},
            ),
            ("last_block_without_fence", 4, 64, last),
            ("last_block_with_block_fence", 4, 64, last),
            ("last_block_before_barrier", 4, 128, last),
            (
                "plain_flag",
                2,
                64,
                {"a": a, "data": ones(64), "flag": np.zeros(1, I32), "out": ones(64)},
            ),
            ("stencil_in_place", 4, 128, {"a": a, "n": I32(512)}),
            ("sum_without_atomics", 4, 64, {"a": 1 + a, "sum": np.zeros(1, F32)}),
            ("scratch_without_barrier", 2, 128, {"a": a, "scratch": ones(256), "out": ones(256)}),
            ("atomic_beside_plain_read", 3, 32, {"counter": np.zeros(1, I32), "out": ones(3, I32)}),
            ("scatter_with_duplicates", 4, 128, {"to": duplicates, "a": a, "out": ones(512)}),
            ("blocks_overlap_by_one", 4, 64, {"a": a, "out": ones(512)}),
        )
    ]


def sync() -> list[Planted]:
    """Barriers and warp functions that not all the right threads execute, and no end."""
    some = ramp(64, I32) % 7
    negative = ramp(64, I32)
    negative[40] = -1
    return [
        launch("sync.cu", name, grid, block, arguments)
        for name, grid, block, arguments in (
            ("barrier_of_one_warp", 2, 64, {"a": Fresh(64, F32)}),
            ("barrier_in_divergent_branch", 1, 64, {"a": ones(64)}),
            (
                "barrier_after_early_return",
                2,
                64,
                {"in": ones(100), "out": ones(100), "n": I32(100)},
            ),
            ("barrier_in_uneven_loop", 1, 64, {"in": ones(96), "out": ones(64), "n": I32(96)}),
            ("warps_at_different_barriers", 1, 64, {"a": ones(64)}),
            ("barrier_of_too_few", 1, 64, {"a": ones(64)}),
            ("shuffle_in_branch", 1, 32, {"a": ramp(32)}),
            ("vote_in_branch", 1, 32, {"in": some[:32], "out": ones(32, I32)}),
            ("shuffle_beyond_the_mask", 1, 32, {"a": ramp(32), "n": I32(24)}),
            ("shuffle_after_lanes_ended", 1, 32, {"a": ramp(32), "n": I32(24)}),
            ("mask_without_self", 1, 32, {"a": ramp(32)}),
            ("never_ends", 1, 32, {"flag": np.zeros(1, I32), "out": ones(32, I32)}),
            ("loop_never_reaches_its_end", 1, 32, {"out": ones(32, I32), "step": np.uint32(2)}),
            ("trapped", 1, 64, {"in": negative, "out": ones(64, I32)}),
        )
    ]


def planted() -> list[Planted]:
    """All of them."""
    return [*memory(), *init(), *shared_races(), *global_races(), *sync()]
