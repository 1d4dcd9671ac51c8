"""Rodinia's kernels on regular grids: heat, diffusion, shortest paths through a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import real_program

Grid = NDArray[np.float64]


def _shifted(grid: Grid) -> tuple[Grid, Grid, Grid, Grid]:
    """Neighbours above, below, left and right, the edge repeated."""
    padded = np.pad(grid, 1, mode="edge")
    return padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]


@real_program(
    "rodinia",
    "cuda/hotspot/hotspot.cu",
    "calculate_temp",
    computes="heat in a chip, several time steps per launch in a shared tile",
)
def hotspot(device: Device) -> Sequence[Check]:
    size, steps, height, block = 96, 6, 2, 16
    rng = np.random.default_rng(1)
    start = rng.uniform(320, 345, (size, size)).astype(np.float32)
    heat = rng.uniform(0, 1e-3, (size, size)).astype(np.float32)
    chip, thick, conduct, factor, specific = 0.016, 0.0005, 100.0, 0.5, 1.75e6
    cell = chip / size
    capacity = np.float32(factor * specific * thick * cell * cell)
    sideways = np.float32(cell / (2 * conduct * thick * cell))
    upwards = np.float32(thick / (conduct * cell * cell))
    step = np.float32(0.001 / (3.0e6 / (factor * thick * specific)))
    grids = [device.array("temperature0", start), device.zeros("temperature1", (size, size))]
    power = device.array("power", heat)
    blocks = -(-size // (block - 2 * height))
    for _ in range(0, steps, height):
        device.launch(
            "calculate_temp", (blocks, blocks), (block, block),
            height, power, *grids, size, size, height, height,
            capacity, sideways, sideways, upwards, step, 0.001,
        )  # fmt: skip
        grids.reverse()
    expected = start.astype(np.float64)
    for _ in range(steps):
        up, down, left, right = _shifted(expected)
        expected = expected + float(step) / float(capacity) * (
            heat
            + (up + down - 2 * expected) / float(sideways)
            + (left + right - 2 * expected) / float(sideways)
            + (80.0 - expected) / float(upwards)
        )
    return [rounded("temperature", grids[0].view(), expected, 12 * steps)]


@real_program(
    "rodinia",
    "cuda/hotspot3D/3D.cu",
    "hotspotOpt1",
    computes="heat in a stack of layers, a column per thread",
)
def hotspot3d(device: Device) -> Sequence[Check]:
    nx, ny, nz, steps = 64, 32, 8, 3
    rng = np.random.default_rng(2)
    start = rng.uniform(320, 345, (nz, ny, nx)).astype(np.float32)
    heat = rng.uniform(0, 1, (nz, ny, nx)).astype(np.float32)
    side, vertical, share = np.float32(0.03), np.float32(0.05), np.float32(0.001)
    centre = np.float32(1 - (4 * float(side) + 3 * float(vertical)))
    power = device.array("power", heat)
    grids = [device.array("temperature0", start), device.zeros("temperature1", (nz, ny, nx))]
    for _ in range(steps):
        device.launch(
            "hotspotOpt1", (nx // 64, ny // 4), (64, 4),
            power, *grids, share, nx, ny, nz,
            side, side, side, side, vertical, vertical, centre,
        )  # fmt: skip
        grids.reverse()
    expected = start.astype(np.float64)
    for _ in range(steps):
        p = np.pad(expected, 1, mode="edge")
        inner = slice(1, -1)
        around = p[inner, inner, :-2] + p[inner, inner, 2:]
        around += p[inner, :-2, inner] + p[inner, 2:, inner]
        stacked = p[:-2, inner, inner] + p[2:, inner, inner]
        expected = (
            float(centre) * expected
            + float(side) * around
            + float(vertical) * (stacked + 80.0)
            + float(share) * heat
        )
    return [rounded("temperature", grids[0].view(), expected, 20 * steps)]


@real_program(
    "rodinia",
    "cuda/pathfinder/pathfinder.cu",
    "dynproc_kernel",
    computes="cheapest path through a grid, rows in a shared tile",
)
def pathfinder(device: Device) -> Sequence[Check]:
    rows, columns, height, block = 21, 1500, 5, 256
    wall = np.random.default_rng(3).integers(0, 10, (rows, columns), np.int32)
    costs = device.array("wall", wall[1:])
    results = [device.array("result0", wall[0]), device.zeros("result1", columns, np.int32)]
    blocks = -(-columns // (block - 2 * height))
    for row in range(0, rows - 1, height):
        device.launch(
            "dynproc_kernel", blocks, block,
            min(height, rows - row - 1), costs, *results, columns, rows, row, height,
        )  # fmt: skip
        results.reverse()
    cheapest = wall[0].astype(np.int64)
    for row in wall[1:]:
        padded = np.pad(cheapest, 1, mode="edge")
        cheapest = row + np.minimum(np.minimum(padded[:-2], padded[2:]), cheapest)
    return [exact("cost", results[0].view(), cheapest)]


def diffused(image: Grid, strength: float, spread: float) -> tuple[Grid, Grid]:
    """One step of speckle-reducing diffusion and its coefficients (Yu and Acton 2002, eq. 31–61).

    Axis 0 runs north to south, axis 1 west to east.
    """
    north, south, west, east = (x - image for x in _shifted(image))
    gradient = (north**2 + south**2 + west**2 + east**2) / image**2
    laplacian = (north + south + west + east) / image
    q = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
    c = np.clip(1 / (1 + (q - spread) / (spread * (1 + spread))), 0, 1)
    below, right = _shifted(c)[1], _shifted(c)[3]
    return image + strength / 4 * (c * north + below * south + c * west + right * east), c


@real_program(
    "rodinia",
    "cuda/srad/srad_v1/main.cu",
    "extract",
    "prepare",
    "reduce",
    "srad",
    "srad2",
    "compress",
    computes="speckle-reducing diffusion: exponential, sums, two stencil steps, logarithm",
    std="c++14",
)
def srad_v1(device: Device) -> Sequence[Check]:
    rows, columns, threads, steps = 63, 65, 512, 2
    size, strength = rows * columns, 0.5
    pixels = np.random.default_rng(4).uniform(0, 255, (columns, rows)).astype(np.float32)
    image = device.array("image", pixels)
    sums, squares = device.zeros("sums", size), device.zeros("squares", size)
    up = device.array("iN", np.maximum(np.arange(rows) - 1, 0).astype(np.int32))
    down = device.array("iS", np.minimum(np.arange(rows) + 1, rows - 1).astype(np.int32))
    right = device.array("jE", np.minimum(np.arange(columns) + 1, columns - 1).astype(np.int32))
    left = device.array("jW", np.maximum(np.arange(columns) - 1, 0).astype(np.int32))
    slopes = [device.zeros(f"d{way}", size) for way in "NSEW"]
    coefficient = device.zeros("c", size)
    blocks, elements = -(-size // threads), np.int64(size)
    device.launch("extract", blocks, threads, elements, image)
    spreads = []
    for _ in range(steps):
        device.launch("prepare", blocks, threads, elements, image, sums, squares)
        left_over, count, stride = blocks, size, 1
        while left_over:
            device.launch("reduce", left_over, threads, elements, count, stride, sums, squares)
            count, stride = left_over, stride * threads
            left_over = 0 if left_over == 1 else -(-left_over // threads)
        mean = float(sums.view().flat[0]) / size
        spreads.append((float(squares.view().flat[0]) / size - mean**2) / mean**2)
        neighbours = (up, down, right, left, *slopes)
        device.launch(
            "srad", blocks, threads, np.float32(strength), rows, columns, elements,
            *neighbours, np.float32(spreads[-1]), coefficient, image,
        )  # fmt: skip
        device.launch(
            "srad2", blocks, threads, np.float32(strength), rows, columns, elements,
            *neighbours, coefficient, image,
        )  # fmt: skip
    device.launch("compress", blocks, threads, elements, image)
    expected = np.exp(pixels.astype(np.float64) / 255).T
    true_spreads = []
    for _ in range(steps):
        mean = expected.mean()
        true_spreads.append(((expected**2).mean() - mean**2) / mean**2)
        expected, _ = diffused(expected, strength, true_spreads[-1])
    found = image.view().reshape(columns, rows).T
    return [
        # Sums in trees and tails of at most 512 terms; the kernel is only right where its second
        # round has no tail, as with 8 blocks. A variance is a difference of two means.
        rounded("spread", np.array(spreads, np.float32), true_spreads, 600, scale=2.0),
        # Differences of neighbours and the divisions by them, each step; 255 ln x in the end.
        rounded("image", found, np.log(expected) * 255, 80 * steps, scale=255.0),
    ]
