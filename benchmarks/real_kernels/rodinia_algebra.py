"""Rodinia's kernels of linear algebra, learning and particles."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, rounded
from benchmarks.real_kernels.registry import real_program


def _toeplitz(size: int) -> NDArray[np.float32]:
    """The suite's own test matrix: 10 exp(-0.01 |i - j|)."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return (10 * np.exp(-0.01 * apart)).astype(np.float32)


@real_program(
    "rodinia",
    "cuda/gaussian/gaussian.cu",
    "Fan1",
    "Fan2",
    computes="Gaussian elimination, two launches per column",
)
def gaussian(device: Device) -> Sequence[Check]:
    size, block = 40, 16
    matrix, right = _toeplitz(size), np.ones(size, np.float32)
    m = device.zeros("m", (size, size))
    a, b = device.array("a", matrix), device.array("b", right)
    tiles = -(-size // block)
    for column in range(size - 1):
        device.launch("Fan1", 1, 512, m, a, size, column)
        device.launch("Fan2", (tiles, tiles), (block, block), m, a, b, size, size - column, column)
    lower = np.tril(m.view().astype(np.float64), -1) + np.eye(size)
    upper = np.triu(a.view().astype(np.float64))
    forward = b.view().astype(np.float64)
    # Backward error of elimination: |A - LU| <= n u |L| |U| (Higham 2002, theorem 9.3).
    product = (lower @ upper).astype(np.float32)
    return [
        rounded("L times U", product, matrix, size + 1, scale=abs(lower) @ abs(upper)),
        rounded(
            "L times b",
            (lower @ forward).astype(np.float32),
            right,
            size + 1,
            scale=abs(lower) @ abs(forward),
        ),
    ]


@real_program(
    "rodinia",
    "cuda/lud/cuda/lud_kernel.cu",
    "lud_diagonal",
    "lud_perimeter",
    "lud_internal",
    computes="blocked LU decomposition in shared tiles",
)
def lud(device: Device) -> Sequence[Check]:
    size, block = 96, 16
    matrix = _toeplitz(size)
    m = device.array("m", matrix)
    for offset in range(0, size - block, block):
        left = (size - offset) // block - 1
        device.launch("lud_diagonal", 1, block, m, size, offset)
        device.launch("lud_perimeter", left, 2 * block, m, size, offset)
        device.launch("lud_internal", (left, left), (block, block), m, size, offset)
    device.launch("lud_diagonal", 1, block, m, size, size - block)
    result = m.view().astype(np.float64)
    lower, upper = np.tril(result, -1) + np.eye(size), np.triu(result)
    product = (lower @ upper).astype(np.float32)
    return [rounded("L times U", product, matrix, size + 1, scale=abs(lower) @ abs(upper))]


@real_program(
    "rodinia",
    "cuda/backprop/backprop_cuda_kernel.cu",
    "bpnn_layerforward_CUDA",
    "bpnn_adjust_weights_cuda",
    computes="a layer of a neural network, forward and weight update",
)
def backprop(device: Device) -> Sequence[Check]:
    inputs, hidden = 256, 16
    rng = np.random.default_rng(5)
    units = rng.uniform(0, 1, inputs + 1).astype(np.float32)
    weights, before = rng.uniform(-1, 1, (2, inputs + 1, hidden + 1)).astype(np.float32)
    errors = rng.uniform(-1, 1, hidden + 1).astype(np.float32)
    d_units, d_weights = device.array("input", units), device.array("weights", weights)
    partial = device.zeros("partial", (inputs // 16, hidden))
    grid, block = (1, inputs // 16), (16, 16)
    device.launch(
        "bpnn_layerforward_CUDA", grid, block,
        d_units, device.zeros("output", hidden + 1), d_weights, partial, inputs, hidden,
    )  # fmt: skip
    terms = weights[1:, 1:].astype(np.float64) * units[1:, None]
    sums = terms.reshape(-1, 16, hidden).sum(1)
    size = abs(terms).reshape(-1, 16, hidden).sum(1)
    updated = device.array("updated", weights)
    momentum = device.array("momentum", before)
    device.launch(
        "bpnn_adjust_weights_cuda", grid, block,
        device.array("errors", errors), hidden, d_units, inputs, updated, momentum,
    )  # fmt: skip
    driving = np.concatenate([[1.0], units[1:].astype(np.float64)])
    change = 0.3 * np.outer(driving, errors) + 0.3 * before
    expected, kept = weights + change, change
    expected[:, 0], kept[:, 0] = weights[:, 0], before[:, 0]
    return [
        rounded("partial sums", partial.view(), sums, 5, scale=size),
        rounded("weights", updated.view(), expected, 3, scale=3.0),
        rounded("momentum", momentum.view(), kept, 3, scale=1.0),
    ]


@real_program(
    "rodinia", "cuda/nn/nn_cuda.cu", "euclid", computes="distances of records to one place"
)
def nn(device: Device) -> Sequence[Check]:
    count = 3000
    places = np.random.default_rng(6).uniform([7, 0], [64, 359], (count, 2)).astype(np.float32)
    distances = device.zeros("distances", count)
    latitude, longitude = 30.0, 90.0
    device.launch(
        "euclid", -(-count // 256), 256,
        device.array("locations", places), distances, count, latitude, longitude,
    )  # fmt: skip
    expected = np.hypot(
        latitude - places[:, 0].astype(float), longitude - places[:, 1].astype(float)
    )
    return [rounded("distance", distances.view(), expected, 5)]


_NEIGHBOUR = np.dtype(
    [("x", "i4"), ("y", "i4"), ("z", "i4"), ("number", "i4"), ("offset", "i8")], align=True
)
_BOX = np.dtype(
    [("x", "i4"), ("y", "i4"), ("z", "i4"), ("number", "i4"), ("offset", "i8"), ("nn", "i4"),
     ("nei", _NEIGHBOUR, 26)],
    align=True,
)  # fmt: skip
_SHAPE = np.dtype([(name, "i4") for name in "abcd"] + [(name, "i8") for name in "nopqr"])


@real_program(
    "rodinia",
    "cuda/lavaMD/kernel/kernel_gpu_cuda_wrapper.cu",
    "kernel_gpu_cuda",
    computes="forces between particles of neighbouring boxes, double precision",
)
def lava_md(device: Device) -> Sequence[Check]:
    side, particles, alpha = 2, 100, 0.5
    rng = np.random.default_rng(7)
    places = np.array(list(itertools.product(range(side), repeat=3)))[:, ::-1]
    count = len(places)
    boxes = np.zeros(count, _BOX)
    for number, (x, y, z) in enumerate(places):
        near = np.flatnonzero(abs(places - places[number]).max(1) <= 1)
        near = near[near != number]
        boxes[number] = (x, y, z, number, number * particles, len(near), 0)
        boxes[number]["nei"]["number"][: len(near)] = near
    points = rng.integers(1, 11, (count * particles, 4)) / 10.0
    charges = rng.integers(1, 11, count * particles) / 10.0
    forces = device.array("fv", np.zeros((count * particles, 4)))
    shape = np.zeros((), _SHAPE)
    shape["n"] = count
    device.launch(
        "kernel_gpu_cuda", count, 128,
        np.array(alpha)[()], shape[()], device.array("box", boxes),
        device.array("rv", points), device.array("qv", charges), forces,
    )  # fmt: skip
    expected = np.zeros((count * particles, 4))
    size = np.zeros((count * particles, 4))
    for box in boxes:
        own = slice(box["number"] * particles, (box["number"] + 1) * particles)
        for other in [box["number"], *box["nei"]["number"][: box["nn"]]]:
            at = slice(other * particles, (other + 1) * particles)
            a, b, q = points[own], points[at], charges[at]
            squared = a[:, :1] + b[:, 0] - a[:, 1:] @ b[:, 1:].T
            weight = np.exp(-2 * alpha**2 * squared) * q
            apart = a[:, None, 1:] - b[None, :, 1:]
            expected[own, 0] += weight.sum(1)
            expected[own, 1:] += (2 * weight[..., None] * apart).sum(1)
            size[own, 0] += weight.sum(1)
            size[own, 1:] += (2 * weight[..., None] * abs(apart)).sum(1)
    return [rounded("forces", forces.view(), expected, 8 * particles + 10, scale=size)]
