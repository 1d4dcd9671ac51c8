"""Texture fetching in NumPy, from the formulas of the CUDA C++ Programming Guide."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.texture import Sampler

Real = NDArray[np.float64]


def addressed(index: NDArray[np.int64], extent: int, mode: str) -> tuple[NDArray[np.int64], Real]:
    """Texel for an index, and 0 where the border is read instead (else 1)."""
    inside = np.ones(index.shape)
    if mode == "border":
        inside = ((index >= 0) & (index < extent)).astype(float)
    elif mode == "wrap":
        return np.mod(index, extent), inside
    elif mode == "mirror":
        doubled = np.concatenate([np.arange(extent), np.arange(extent)[::-1]])
        return doubled[np.mod(index, 2 * extent)], inside
    return np.clip(index, 0, extent - 1), inside


def returned(data: NDArray[np.generic], sampler: Sampler) -> Real:
    """What a texture returns for each channel."""
    if sampler.read == "normalized" and data.dtype.kind in "ui":
        return np.maximum(data / np.iinfo(data.dtype).max, -1.0)
    return data.astype(np.float64)


def texture(
    data: NDArray[np.generic], coordinates: list[NDArray[np.float32]], sampler: Sampler
) -> Real:
    """(samples, channels) of a texture ``data`` (extents slowest first, channels) at x, y, z."""
    values = returned(data, sampler)
    axes = len(coordinates)
    places, parts = [], []
    for axis, given in enumerate(coordinates):
        extent = data.shape[axes - 1 - axis]
        x = given.astype(np.float64) * (extent if sampler.normalized else 1)
        if sampler.filter == "linear":
            x = x - 0.5
        places.append(np.floor(x).astype(np.int64))
        # 9 bits, 8 of them for the fraction, so that 1 is one of the weights.
        parts.append(np.floor((x - np.floor(x)) * 256 + 0.5) / 256)
    total = np.zeros((len(coordinates[0]), data.shape[-1]))
    corners = (
        itertools.product((0, 1), repeat=axes) if sampler.filter == "linear" else [(0,) * axes]
    )
    for corner in corners:
        weight = np.ones(len(coordinates[0]))
        inside = np.ones(len(coordinates[0]))
        index = []
        for axis, upper in enumerate(corner):
            mode = sampler.address[axis]
            if not sampler.normalized and mode in ("wrap", "mirror"):
                mode = "clamp"
            extent = data.shape[axes - 1 - axis]
            at, known = addressed(places[axis] + upper, extent, mode)
            index.insert(0, at)
            inside = inside * known
            if sampler.filter == "linear":
                weight = weight * (parts[axis] if upper else 1 - parts[axis])
        texel = values[tuple(index)]
        border = np.array(sampler.border[: data.shape[-1]])
        total += weight[:, None] * np.where(inside[:, None] > 0, texel, border)
    return total
