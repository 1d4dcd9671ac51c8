"""Rodinia's kernels of graphs, trees, sequences, clustering and coding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import real_program


@real_program(
    "rodinia",
    "cuda/bfs/bfs.cu",
    "Kernel",
    "Kernel2",
    computes="breadth-first search, two launches per level until no node is left",
)
def bfs(device: Device) -> Sequence[Check]:
    nodes = 2000
    rng = np.random.default_rng(8)
    degrees = rng.integers(1, 7, nodes)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    edges = rng.integers(0, nodes, starts[-1]).astype(np.int32)
    graph = np.stack([starts[:-1], degrees], 1).astype(np.int32)
    first = np.arange(nodes) == 0
    mask, updating = device.array("mask", first), device.zeros("updating", nodes, np.bool_)
    visited = device.array("visited", first)
    cost = device.array("cost", np.where(first, 0, -1).astype(np.int32))
    d_graph, d_edges = device.array("nodes", graph), device.array("edges", edges)
    over = device.zeros("over", 1, np.bool_)
    while True:
        over.fill(False)
        blocks = -(-nodes // 512)
        device.launch("Kernel", blocks, 512, d_graph, d_edges, mask, updating, visited, cost, nodes)
        device.launch("Kernel2", blocks, 512, mask, updating, visited, over, nodes)
        if not over.view()[0]:
            break
    matrix = csr_array((np.ones(edges.size), edges, starts), shape=(nodes, nodes))
    levels = shortest_path(matrix, unweighted=True, indices=0)
    return [exact("cost", cost.view(), np.where(np.isinf(levels), -1, levels).astype(np.int32))]


@real_program(
    "rodinia",
    "cuda/nw/needle.cu",
    "needle_cuda_shared_1",
    "needle_cuda_shared_2",
    computes="Needleman-Wunsch alignment along diagonals of tiles",
)
def nw(device: Device) -> Sequence[Check]:
    size, block, penalty = 96, 16, 10
    width = size + 1
    scores = np.random.default_rng(9).integers(-4, 12, (width, width)).astype(np.int32)
    start = np.zeros((width, width), np.int32)
    start[0] = start[:, 0] = -penalty * np.arange(width)
    reference, matrix = device.array("reference", scores), device.array("matrix", start)
    tiles = size // block
    for diagonal in range(1, tiles + 1):
        device.launch(
            "needle_cuda_shared_1", diagonal, block,
            reference, matrix, width, penalty, diagonal, tiles,
        )  # fmt: skip
    for diagonal in range(tiles - 1, 0, -1):
        device.launch(
            "needle_cuda_shared_2", diagonal, block,
            reference, matrix, width, penalty, diagonal, tiles,
        )  # fmt: skip
    table = start.tolist()
    for i in range(1, width):
        for j in range(1, width):
            table[i][j] = max(
                table[i - 1][j - 1] + int(scores[i, j]),
                table[i][j - 1] - penalty,
                table[i - 1][j] - penalty,
            )
    return [exact("scores", matrix.view(), np.array(table, np.int32))]


_ORDER = 256
_TREE_NODE = np.dtype(
    [("location", "i4"), ("indices", "i4", _ORDER + 1), ("keys", "i4", _ORDER + 1),
     ("is_leaf", "?"), ("num_keys", "i4")],
    align=True,
)  # fmt: skip


@real_program(
    "rodinia",
    "cuda/b+tree/kernel/kernel_gpu_cuda_wrapper.cu",
    "findK",
    computes="look-up of keys in a B+ tree, a block per key",
)
def b_plus_tree(device: Device) -> Sequence[Check]:
    rng = np.random.default_rng(10)
    nodes, keys, values = _tree(rng)
    wanted = np.concatenate([rng.choice(keys, 60), rng.integers(0, 1 << 20, 4)]).astype(np.int32)
    count = wanted.size
    answers = device.array("answers", np.full(count, -1, np.int32))
    device.launch(
        "findK", count, _ORDER,
        np.int64(1), device.array("nodes", nodes), np.int64(nodes.size),
        device.array("records", values), device.zeros("current", count, np.int64),
        device.zeros("offset", count, np.int64), device.array("keys", wanted), answers,
    )  # fmt: skip
    known = dict(zip(keys.tolist(), values.tolist(), strict=True))
    return [exact("values", answers.view(), [known.get(int(k), -1) for k in wanted])]


@real_program(
    "rodinia",
    "cuda/b+tree/kernel/kernel_gpu_cuda_wrapper_2.cu",
    "findRangeK",
    computes="ranges of keys in a B+ tree, a block per range",
)
def b_plus_tree_range(device: Device) -> Sequence[Check]:
    rng = np.random.default_rng(11)
    nodes, keys, _ = _tree(rng)
    ends = np.sort(rng.integers(0, keys.size, (64, 2)), 1)
    count = len(ends)
    start, length = device.zeros("start", count, np.int32), device.zeros("length", count, np.int32)
    state = [
        device.zeros(name, count, np.int64) for name in ("current", "offset", "last", "offset2")
    ]
    device.launch(
        "findRangeK", count, _ORDER,
        np.int64(1), device.array("nodes", nodes), np.int64(nodes.size), *state,
        device.array("from", keys[ends[:, 0]]), device.array("to", keys[ends[:, 1]]),
        start, length,
    )  # fmt: skip
    return [
        exact("start", start.view(), ends[:, 0]),
        exact("length", length.view(), ends[:, 1] - ends[:, 0] + 1),
    ]


def _tree(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Root and leaves of a two-level tree, its sorted keys, and the records' values."""
    leaves, each = 40, 100
    keys = np.sort(rng.choice(1 << 20, leaves * each, replace=False)).astype(np.int32)
    values = rng.integers(0, 1 << 30, keys.size).astype(np.int32)
    nodes = np.zeros(leaves + 1, _TREE_NODE)
    nodes["keys"] = np.iinfo(np.int32).max
    nodes[0]["keys"][:leaves] = keys[::each]
    nodes[0]["keys"][0] = 0
    nodes[0]["indices"][:leaves] = np.arange(1, leaves + 1)
    nodes[1:]["keys"][:, :each] = keys.reshape(leaves, each)
    nodes[1:]["indices"][:, :each] = np.arange(keys.size).reshape(leaves, each)
    nodes[1:]["is_leaf"] = True
    return nodes, keys, values


_POINT = np.dtype([("weight", "f4"), ("coord", "u8"), ("assign", "i8"), ("cost", "f4")], align=True)


@real_program(
    "rodinia",
    "cuda/streamcluster/streamcluster_cuda.cu",
    "kernel_compute_cost",
    computes="cost of opening a centre, structures of points in memory",
)
def streamcluster(device: Device) -> Sequence[Check]:
    count, dimensions, centres, opened = 1500, 16, 8, 77
    rng = np.random.default_rng(12)
    coordinates = rng.uniform(0, 1, (dimensions, count)).astype(np.float32)
    points = np.zeros(count, _POINT)
    points["weight"] = rng.integers(1, 4, count)
    points["assign"] = rng.integers(0, count, count)
    points["cost"] = rng.uniform(1, 8, count)
    table = rng.integers(0, centres, count).astype(np.int32)
    stride = centres + 1
    work = device.zeros("work", (count, stride))
    switch = device.zeros("switch", count, np.bool_)
    device.launch(
        "kernel_compute_cost", -(-count // 512), 512,
        count, dimensions, np.int64(opened), device.array("points", points), centres, stride,
        device.array("coordinates", coordinates), work, device.array("table", table), switch,
    )  # fmt: skip
    wide = coordinates.astype(np.float64)
    cost = ((wide - wide[:, [opened]]) ** 2).sum(0) * points["weight"]
    better = cost < points["cost"]
    expected = np.zeros((count, stride))
    expected[better, centres] = (cost - points["cost"])[better]
    others = np.flatnonzero(~better)
    expected[others, table[points["assign"][others]]] = (points["cost"] - cost)[others]
    size = np.broadcast_to((cost + points["cost"])[:, None], expected.shape)
    return [
        exact("switched", switch.view(), better),
        rounded("work", work.view(), expected, dimensions + 5, scale=size),
    ]


@real_program(
    "rodinia",
    "cuda/huffman/hist.cu",
    "histo_kernel",
    computes="histogram of bytes with shared and global atomics",
)
def huffman_histogram(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(13).geometric(0.02, 50_000).astype(np.uint8)
    histogram = device.zeros("histogram", 256, np.uint32)
    device.launch(
        "histo_kernel", 16, 256, device.array("data", data), np.int64(data.size), histogram
    )
    return [exact("histogram", histogram.view(), np.bincount(data, minlength=256))]


@real_program(
    "rodinia",
    "cuda/huffman/vlc_kernel_sm64huff.cu",
    "vlc_encode_kernel_sm64huff",
    computes="variable-length coding: prefix sum of lengths, bits put together by shared atomics",
    defines=(("SMATOMICS", "1"),),
)
def huffman_encode(device: Device) -> Sequence[Check]:
    blocks, threads = 6, 256
    rng = np.random.default_rng(14)
    data = rng.integers(0, 256, (blocks, threads * 4), np.uint8)
    lengths = rng.integers(2, 9, 256).astype(np.uint32)
    words = (rng.integers(0, 1 << 16, 256) & ((1 << lengths.astype(np.int64)) - 1)).astype(
        np.uint32
    )
    out = device.zeros("out", (blocks, threads), np.uint32)
    bits = device.zeros("bits", blocks, np.uint32)
    device.launch(
        "vlc_encode_kernel_sm64huff", blocks, threads,
        # The first byte of four is the most significant one.
        device.array("data", np.ascontiguousarray(data).view(">u4").astype(np.uint32)),
        device.array("words", words), device.array("lengths", lengths),
        # Three arrays of the suite's own tests, which the kernel does not use.
        *(device.zeros(name, 1, np.uint32) for name in ("cw32", "cw32len", "cw32idx")), out, bits,
        shared=(2 * 256 + threads) * 4,
    )  # fmt: skip
    expected = np.zeros((blocks, threads), np.uint32)
    total = []
    for block in range(blocks):
        text = "".join(f"{words[v]:0{lengths[v]}b}" for v in data[block])
        total.append(len(text))
        padded = text.ljust(-(-len(text) // 32) * 32, "0")
        packed = [int(padded[i : i + 32], 2) for i in range(0, len(padded), 32)]
        expected[block, : len(packed)] = packed
    return [exact("bits", bits.view(), total), exact("code", out.view(), expected)]


@real_program(
    "rodinia",
    "cuda/particlefilter/ex_particle_CUDA_float_seq.cu",
    "likelihood_kernel",
    "sum_kernel",
    "normalize_weights_kernel",
    "find_index_kernel",
    computes="particle filter: random steps, likelihoods of pixels, weights, resampling",
)
def particle_filter(device: Device) -> Sequence[Check]:
    count, ones, side, frames, frame = 400, 30, 64, 4, 1
    rng = np.random.default_rng(15)
    image = rng.choice(np.array([100, 228], np.uint8), side * side * frames)
    offsets = rng.integers(-5, 6, (ones, 2)).astype(np.int32)
    seeds = rng.integers(1, 1 << 30, count).astype(np.int32)
    start = rng.uniform(20, 40, (2, count))
    names = ("x", "y", "cdf", "likelihood", "u", "weights")
    x, y, cdf, likelihood, u, weights = (device.zeros(n, count, np.float64) for n in names)
    xj, yj = device.array("xj", start[0]), device.array("yj", start[1])
    index = device.zeros("index", (count, ones), np.int32)
    seed, sums = device.array("seed", seeds), device.zeros("sums", 1, np.float64)
    device.launch(
        "likelihood_kernel", 1, 512,
        x, y, xj, yj, cdf, index, device.array("offsets", offsets), likelihood,
        device.array("image", image), u, weights,
        count, ones, image.size, frame, side, frames, seed, sums,
    )  # fmt: skip
    device.launch("sum_kernel", 1, 512, sums, count)
    device.launch("normalize_weights_kernel", 1, 512, weights, count, sums, cdf, u, seed)
    device.launch("find_index_kernel", 1, 512, x, y, cdf, u, xj, yj, weights, count)

    state = seeds.copy()
    true_x = start[0] + 1 + 5 * _normal(state)
    true_y = start[1] - 2 + 2 * _normal(state)
    columns = np.trunc(true_x)[:, None].astype(int) + offsets[:, 1]
    rows = np.trunc(true_y)[:, None].astype(int) + offsets[:, 0]
    pixels = abs(columns * side * frames + rows * frames + frame)
    pixels[pixels >= image.size] = 0
    values = image[pixels].astype(np.float64)
    likely = (((values - 100) ** 2 - (values - 228) ** 2) / 50).sum(1) / ones
    weight = np.exp(likely) / count
    weight /= weight.sum()
    total = np.cumsum(weight)
    draws = _uniform(state[:1])[0] / count + np.arange(count) / count
    chosen = np.minimum(np.searchsorted(total, draws), count - 1)
    return [
        exact("pixels", index.view(), pixels),
        rounded("x", x.view(), true_x, 20, scale=60.0),
        # The likelihood is a sum of some 300 in magnitude, so its exponential errs by that often.
        rounded("weights", weights.view(), weight, 400 * ones),
        rounded("cdf", cdf.view(), total, 400 * ones + count),
        rounded("drawn x", xj.view(), true_x[chosen], 20, scale=60.0),
    ]


def _uniform(state: np.ndarray) -> np.ndarray:
    """The suite's linear congruential generator in wrapping 32-bit integers; steps ``state``."""
    wrapped = ((1103515245 * state.astype(np.int64) + 12345 + 2**31) % 2**32) - 2**31
    state[:] = np.fmod(wrapped, 2**31 - 1)
    return abs(state / float(2**31 - 1))


def _normal(state: np.ndarray) -> np.ndarray:
    """Box and Muller's transformation of two draws."""
    u = _uniform(state)
    return np.asarray(np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * _uniform(state)))


@real_program(
    "rodinia",
    "cuda/particlefilter/ex_particle_CUDA_naive_seq.cu",
    "kernel",
    computes="resampling of particles by linear search",
)
def particle_filter_naive(device: Device) -> Sequence[Check]:
    count = 700
    rng = np.random.default_rng(16)
    x, y = rng.uniform(0, 100, (2, count))
    cdf = np.cumsum(rng.dirichlet(np.ones(count)))
    draws = np.sort(rng.uniform(0, 1, count))
    xj, yj = device.zeros("xj", count, np.float64), device.zeros("yj", count, np.float64)
    device.launch(
        "kernel", -(-count // 128), 128,
        device.array("x", x), device.array("y", y), device.array("cdf", cdf),
        device.array("u", draws), xj, yj, count,
    )  # fmt: skip
    chosen = np.minimum(np.searchsorted(cdf, draws), count - 1)
    return [exact("x", xj.view(), x[chosen]), exact("y", yj.view(), y[chosen])]
