"""SHOC's breadth-first searches: virtual warps, queues in shared memory, blocks that wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact
from benchmarks.real_kernels.registry import real_program

_HEADERS = ("shoc/src/common", "shoc/src/cuda/common")
_CONFIGURED = (("HAVE_GETTIMEOFDAY", "1"),)
"""What the suite's configure script would say in config.h."""


def _graph(nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row starts and edges of a symmetric random graph, and the levels seen from node 0."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, nodes, (3 * nodes, 2))
    both = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    matrix = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(nodes, nodes))
    levels = shortest_path(matrix, unweighted=True, indices=0)
    levels = np.where(np.isinf(levels), 2**32 - 1, levels).astype(np.uint32)
    return matrix.indptr.astype(np.uint32), matrix.indices.astype(np.uint32), levels


@real_program(
    "shoc",
    "src/cuda/level1/bfs/bfs_kernel.cu",
    "BFS_kernel_warp",
    computes="breadth-first search, virtual warps over the nodes of a level",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def bfs_warp(device: Device) -> Sequence[Check]:
    nodes = 3000
    starts, edges, expected = _graph(nodes, 25)
    levels = device.array("levels", np.where(np.arange(nodes) == 0, 0, 2**32 - 1).astype("u4"))
    d_starts, d_edges = device.array("starts", starts), device.array("edges", edges)
    flag = device.zeros("flag", 1, np.int32)
    for level in range(nodes):
        flag.fill(0)
        device.launch(
            "BFS_kernel_warp", -(-nodes // 512), 512,
            levels, d_starts, d_edges, 32, 32, np.uint32(nodes), level, flag,
        )  # fmt: skip
        if not flag.view()[0]:
            break
    return [exact("levels", levels.view(), expected)]


@real_program(
    "shoc",
    "src/cuda/level1/bfs/bfs_kernel.cu",
    "Reset_kernel_parameters",
    "BFS_kernel_one_block_spill",
    "BFS_kernel_multi_block_spill",
    "Frontier_copy",
    computes="breadth-first search with queues in shared memory and atomics",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def bfs_queue(device: Device) -> Sequence[Check]:
    nodes, threads, queue = 4000, 256, 256
    starts, edges, expected = _graph(nodes, 26)
    cost = device.array("cost", np.where(np.arange(nodes) == 0, 0, 2**32 - 1).astype("u4"))
    visited = device.zeros("visited", nodes, np.int32)
    frontier, second = (device.zeros(n, nodes, np.uint32) for n in ("frontier", "frontier2"))
    length = device.zeros("length", 1, np.uint32)
    graph = (device.array("starts", starts), device.array("edges", edges))
    sizes = (np.uint32(nodes), np.uint32(edges.size), length, np.uint32(queue))
    count = 1
    while count:
        device.launch("Reset_kernel_parameters", 1, 1, length)
        now = np.uint32(count)
        if count <= threads:
            device.launch(
                "BFS_kernel_one_block_spill", 1, threads,
                frontier, now, cost, visited, *graph, *sizes, shared=8 * queue,
            )  # fmt: skip
        else:
            blocks = -(-count // threads)
            device.launch(
                "BFS_kernel_multi_block_spill", blocks, threads,
                frontier, second, now, cost, visited, *graph, *sizes, shared=4 * queue,
            )  # fmt: skip
            copies = -(-int(length.view()[0]) // threads) or 1
            device.launch("Frontier_copy", copies, threads, frontier, second, length)
        count = int(length.view()[0])
    return [exact("cost", cost.view(), expected)]


@real_program(
    "shoc",
    "src/cuda/level1/bfs/bfs_kernel.cu",
    "BFS_kernel_SM_block_spill",
    "Reset_kernel_parameters",
    computes="levels of a breadth-first search within one launch, blocks waiting for each other",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def bfs_grid_barrier(device: Device) -> Sequence[Check]:
    nodes, threads, blocks = 3000, 64, 24
    starts, edges, expected = _graph(nodes, 27)
    # The kernel takes over where a level has more nodes than a block has threads.
    first = next(n for n in range(nodes) if (expected == n).sum() >= threads)
    known = np.where(expected <= first, expected, 2**32 - 1).astype(np.uint32)
    level = np.flatnonzero(expected == first).astype(np.uint32)
    queue = np.zeros(nodes, np.uint32)
    queue[: level.size] = level
    cost, length = device.array("cost", known), device.zeros("length", 1, np.uint32)
    frontier, second = device.array("frontier", queue), device.zeros("frontier2", nodes, np.uint32)
    device.launch("Reset_kernel_parameters", 1, 1, length)
    device.launch(
        "BFS_kernel_SM_block_spill", blocks, threads,
        frontier, second, np.uint32(level.size), cost,
        device.array("visited", np.isin(np.arange(nodes), level).astype(np.int32)),
        device.array("starts", starts), device.array("edges", edges),
        np.uint32(nodes), np.uint32(edges.size), length, np.uint32(threads), shared=4 * threads,
    )  # fmt: skip
    # It stops at the first level of fewer nodes than a block's threads, or more than all blocks'.
    sizes = np.bincount(expected[expected < nodes])
    sizes = np.append(sizes, 0)
    few_or_many = (sizes < threads) | (sizes > threads * blocks)
    last = first + 1 + int(np.argmax(few_or_many[first + 1 :]))
    reached = np.where(expected <= last, expected, 2**32 - 1).astype(np.uint32)
    return [exact("cost", cost.view(), reached), exact("nodes left", length.view(), [sizes[last]])]
