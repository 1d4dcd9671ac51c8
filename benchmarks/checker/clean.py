"""Launches of correct kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.checker.corpus import Dangling, Fresh, Planted
from benchmarks.checker.planted import F32, I32, launch, ones, ramp, values

PARTICLE = np.dtype([("position", F32, 3), ("kind", np.int16), ("charge", np.int8)], align=True)


def _graph(vertices: int) -> tuple[Any, Any]:
    """A ring with chords, in compressed rows."""
    starts = 2 * np.arange(vertices + 1, dtype=I32)
    v = np.arange(vertices)
    edges = np.stack([(v + 1) % vertices, (v * 7 + 3) % vertices], axis=1)
    return starts, edges.astype(I32).ravel()


def _several_blocks() -> list[tuple[str, Any, Any, dict[str, Any], int]]:
    n, a = I32(1000), ramp(1024)
    starts, edges = _graph(200)
    levels = np.full(200, -1, I32)
    levels[0] = 0
    zero = np.zeros(1, I32)
    return [
        ("guarded", 4, 256, {"a": Fresh(1000, F32), "n": n}, 0),
        ("stencil_with_borders", 4, 256, {"in": a[:1000], "out": Fresh(1000, F32), "n": n}, 0),
        ("aligned_vectors", 2, 64, {"in": a[:400], "out": Fresh(400, F32), "n": I32(100)}, 0),
        (
            "tiled_product",
            (4, 4),
            (16, 16),
            {"a": ramp(4096), "b": ramp(4096), "c": Fresh(4096, F32), "n": I32(64)},
            0,
        ),
        ("tree_reduction", 4, 256, {"a": a, "out": Fresh(4, F32)}, 0),
        ("shuffle_reduction", 4, 256, {"a": a, "out": np.zeros(1, F32), "n": n}, 0),
        (
            "transpose",
            (2, 2),
            (32, 8),
            {"in": ramp(4096), "out": Fresh(4096, F32), "n": I32(64)},
            0,
        ),
        ("histogram", 3, 96, {"v": values(1000, 16), "bins": np.zeros(16, I32), "n": n}, 0),
        ("last_block", 8, 128, {"a": a, "partial": Fresh(8, F32), "out": Fresh(1, F32)}, 0),
        (
            "last_thread",
            3,
            64,
            {"a": a, "data": Fresh(192, F32), "count": zero, "out": Fresh(1, F32)},
            0,
        ),
        (
            "flag_with_fences",
            3,
            64,
            {"a": a, "data": Fresh(64, F32), "flag": zero, "out": Fresh(64, F32)},
            0,
        ),
        ("lock", 2, 64, {"taken": zero, "total": np.zeros(1, I32), "n": I32(100)}, 0),
        ("cooperative_tiles", 4, 128, {"a": a, "out": Fresh(4, F32)}, 0),
        (
            "compact",
            4,
            256,
            {"in": values(1000, 9), "out": Fresh(1000, I32), "count": zero, "n": n},
            0,
        ),
        ("aggregated_atomics", 4, 256, {"in": values(1000, 9), "count": zero, "n": n}, 0),
        ("bytes_of_neighbours", 2, 64, {"in": ones(64, np.uint8), "o": Fresh(128, np.uint8)}, 0),
        (
            "half_words",
            4,
            256,
            {"in": ramp(1000, np.int16), "out": Fresh(1000, np.int16), "n": n},
            0,
        ),
        ("own_element_in_place", 4, 256, {"a": a[:1000], "n": n}, 0),
        ("same_value_by_all", 4, 256, {"in": values(1000, 9), "found": zero, "n": n}, 0),
        ("whole_block_returns", 4, 64, {"in": a, "out": Fresh(256, F32), "blocks": I32(3)}, 0),
        (
            "breadth_first_level",
            2,
            128,
            {"starts": starts, "edges": edges, "level": levels, "now": I32(0), "n": I32(200)},
            0,
        ),
        ("table_of_rows", 4, 32, {"rows": Dangling(4, 32, None), "out": Fresh(128, F32)}, 0),
        (
            "constant_weights",
            4,
            256,
            {"in": a[:1000], "out": Fresh(1000, F32), "n": n},
            0,
        ),
        (
            "grid_barrier",
            4,
            64,
            {"in": a, "middle": Fresh(256, F32), "out": Fresh(256, F32), "arrived": zero},
            0,
        ),
        (
            "cooperative_grid",
            4,
            64,
            {"in": a, "middle": Fresh(256, F32), "out": Fresh(256, F32)},
            0,
        ),
        (
            "last_ticket_resets",
            4,
            32,
            {"in": ramp(4, I32), "tickets": zero, "rounds": zero, "total": np.zeros(1, I32)},
            0,
        ),
        (
            "divergent_but_fine",
            4,
            256,
            {"in": ramp(1000, I32), "out": Fresh(1000, I32), "n": n},
            0,
        ),
        (
            "structs",
            2,
            64,
            {"in": np.ones(100, PARTICLE), "out": Fresh(100, PARTICLE), "n": I32(100)},
            0,
        ),
    ]


def _one_block() -> list[tuple[str, Any, Any, dict[str, Any], int]]:
    a, whole = ramp(1024), ramp(256, I32)
    return [
        ("stack_array", 1, 64, {"in": 10**8 + ramp(64, I32), "o": Fresh(64, I32), "n": I32(8)}, 0),
        ("reverse", 1, 256, {"a": ramp(256)}, 0),
        ("double_buffer", 1, 128, {"a": a, "out": Fresh(128, F32), "tiles": I32(4)}, 0),
        ("warp_synchronous_reduction", 1, 64, {"a": a, "out": Fresh(1, F32)}, 0),
        ("scan", 1, 128, {"in": whole, "out": Fresh(128, I32)}, 0),
        ("blelloch_scan", 1, 128, {"data": whole}, 0),
        ("warp_scan", 1, 128, {"in": whole, "out": Fresh(128, I32)}, 0),
        ("asynchronous_pipeline", 1, 64, {"a": a, "out": Fresh(64, F32), "tiles": I32(4)}, 0),
        ("named_barriers", 1, 64, {"a": a, "out": Fresh(32, F32), "rounds": I32(4)}, 0),
        ("masked_shuffle", 1, 32, {"a": ramp(32), "n": I32(24)}, 0),
        ("barrier_in_uniform_loop", 1, 64, {"in": a, "out": Fresh(64, F32), "n": I32(200)}, 0),
        ("barrier_with_vote", 1, 64, {"in": values(64, 9), "out": Fresh(64, I32)}, 0),
        (
            "dynamic_shared_in_two_parts",
            1,
            64,
            {"in": a, "out": Fresh(64, F32), "n": I32(64)},
            512,
        ),
        ("bitonic_sort", 1, 256, {"data": values(256, 1000)}, 0),
        (
            "writes_fresh_then_reads",
            1,
            64,
            {"in": a, "fresh": Fresh(64, F32), "out": Fresh(64, F32)},
            0,
        ),
        ("warps_take_turns", 1, 96, {"log": np.zeros(1, I32)}, 0),
    ]


def clean() -> list[Planted]:
    """All of them."""
    return [launch("clean.cu", *row) for row in (*_several_blocks(), *_one_block())]


def written_and_shared() -> list[Planted]:
    """Correct kernels at sizes worth timing, most of whose accesses have to be remembered."""
    n, square = 256, ramp(256 * 256)
    size = I32(n)
    return [
        launch(
            "clean.cu",
            "tiled_product",
            (n // 16, n // 16),
            (16, 16),
            {"a": square, "b": square, "c": Fresh(n * n, F32), "n": size},
        ),
        launch(
            "clean.cu",
            "transpose",
            (n // 32, n // 32),
            (32, 8),
            {"in": square, "out": Fresh(n * n, F32), "n": size},
        ),
        launch(
            "clean.cu",
            "histogram",
            64,
            256,
            {"v": values(1 << 20, 16), "bins": np.zeros(16, I32), "n": I32(1 << 20)},
        ),
        launch(
            "clean.cu",
            "last_thread",
            16,
            256,
            {
                "a": ramp(4096),
                "data": Fresh(4096, F32),
                "count": np.zeros(1, I32),
                "out": Fresh(1, F32),
            },
        ),
    ]
