"""The CUDA samples' kernels that read textures and write surfaces.

A filtered read weighs its texels with 8 fractional bits (CUDA C++ Programming Guide, "Texture
Fetching", linear filtering), so that it errs by half of 1/256 of the texels' difference along each
axis; references are interpolated exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn
from scipy.ndimage import correlate1d, map_coordinates

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, near, rounded
from benchmarks.real_kernels.registry import real_program
from placewise.kernel.texture import Geometry

_INTRO = "Samples/0_Introduction"
_CONCEPTS = "Samples/2_Concepts_and_Techniques"
_DOMAIN = "Samples/5_Domain_Specific"
_COMMON = ("cuda-samples/Common",)
_HALF_STEP = 1 / 512
Wide = NDArray[np.float64]


def _turned(size: int, angle: float, centre: float) -> tuple[Wide, Wide]:
    """Rows and columns that the rotation samples read, in texels from the first one's centre."""
    y, x = np.mgrid[:size, :size].astype(np.float64) - centre
    column = x * np.cos(angle) - y * np.sin(angle) + size / 2 - 0.5
    row = y * np.cos(angle) + x * np.sin(angle) + size / 2 - 0.5
    return row, column


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleTexture/simpleTexture.cu",
    "transformKernel",
    computes="rotation of an image, normalized coordinates, wrapped and filtered",
    includes=_COMMON,
)
def simple_texture(device: Device) -> Sequence[Check]:
    size, angle = 64, 0.5
    image = np.random.default_rng(90).uniform(0, 1, (size, size)).astype(np.float32)
    shown = device.texture("image", image, address=("wrap",) * 3, filter="linear", normalized=True)
    result = device.empty("out", image.shape)
    device.launch("transformKernel", (8, 8), (8, 8), result, size, size, angle, shown)
    places = _turned(size, angle, size / 2)
    expected = map_coordinates(image.astype(np.float64), places, order=1, mode="grid-wrap")
    allowed = 2 * _HALF_STEP + 8 * size * float(np.finfo(np.float32).eps)
    return [near("image", result.view(), expected, allowed, "8-bit weights; float coordinates")]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simplePitchLinearTexture/simplePitchLinearTexture.cu",
    "shiftPitchLinear",
    "shiftArray",
    computes="shifted copies of an image from pitched memory and from an array",
    includes=_COMMON,
)
def simple_pitch_linear_texture(device: Device) -> Sequence[Check]:
    width, height, shift = 64, 32, (5, 7)
    rng = np.random.default_rng(91)
    image = rng.uniform(0, 1, (height, width)).astype(np.float32)
    checks = []
    kinds: tuple[tuple[str, Geometry], ...] = (("shiftPitchLinear", "pitch"), ("shiftArray", "2d"))
    for kernel, geometry in kinds:
        shown = device.texture(geometry, image, geometry, address=("wrap",) * 3, normalized=True)
        result = device.empty(kernel, image.shape)
        device.launch(
            kernel, (width // 16, height // 16), (16, 16),
            result, width, width, height, *shift, shown,
        )  # fmt: skip
        expected = np.roll(image, (-shift[1], -shift[0]), (0, 1))
        checks.append(exact(kernel, result.view(), expected))
    return checks


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleLayeredTexture/simpleLayeredTexture.cu",
    "transformKernel",
    computes="layers of a layered texture, read at texel centres",
    includes=_COMMON,
)
def simple_layered_texture(device: Device) -> Sequence[Check]:
    layers, size = 5, 32
    data = np.random.default_rng(92).uniform(0, 9, (layers, size, size)).astype(np.float32)
    shown = device.texture(
        "layers", data, "layered-2d", address=("wrap",) * 3, filter="linear", normalized=True
    )
    result = device.empty("out", data.shape)
    for layer in range(layers):
        device.launch("transformKernel", (4, 4), (8, 8), result, size, size, layer, shown)
    return [exact("layers", result.view(), np.arange(layers, dtype="f4")[:, None, None] - data)]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleCubemapTexture/simpleCubemapTexture.cu",
    "transformKernel",
    computes="faces of a cube map, read at texel centres",
    includes=_COMMON,
)
def simple_cubemap_texture(device: Device) -> Sequence[Check]:
    size = 32
    data = np.random.default_rng(93).uniform(0, 9, (6, size, size)).astype(np.float32)
    shown = device.texture(
        "cube", data, "cube", address=("wrap",) * 3, filter="linear", normalized=True
    )
    result = device.empty("out", data.shape)
    device.launch("transformKernel", (4, 4), (8, 8), result, size, shown)
    return [exact("faces", result.view(), -data)]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleSurfaceWrite/simpleSurfaceWrite.cu",
    "surfaceWriteKernel",
    "transformKernel",
    computes="an image written to a surface, then rotated through a texture of the same array",
    includes=_COMMON,
)
def simple_surface_write(device: Device) -> Sequence[Check]:
    size, angle = 64, 0.5
    image = np.random.default_rng(94).uniform(0, 1, (size, size)).astype(np.float32)
    kept = device.zeros("array", image.shape)
    result = device.empty("out", image.shape)
    device.launch(
        "surfaceWriteKernel", (8, 8), (8, 8),
        device.array("image", image), size, size, device.surface_of(kept),
    )  # fmt: skip
    shown = device.texture_of(kept, address=("wrap",) * 3, filter="linear", normalized=True)
    device.launch("transformKernel", (8, 8), (8, 8), result, size, size, angle, shown)
    places = _turned(size, angle, size / 2)
    expected = map_coordinates(image.astype(np.float64), places, order=1, mode="grid-wrap")
    allowed = 2 * _HALF_STEP + 8 * size * float(np.finfo(np.float32).eps)
    return [
        exact("surface", kept.view(), image),
        near("image", result.view(), expected, allowed, "8-bit weights; float coordinates"),
    ]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleTexture3D/simpleTexture3D_kernel.cu",
    "d_render",
    computes="a slice of a volume of bytes, filtered along three axes",
    includes=_COMMON,
)
def simple_texture_3d(device: Device) -> Sequence[Check]:
    size, image = 16, 64
    volume = np.random.default_rng(95).integers(0, 256, (size, size, size), np.uint8)
    shown = device.texture(
        "volume", volume, "3d",
        address=("wrap",) * 3, filter="linear", read="normalized", normalized=True,
    )  # fmt: skip
    result = device.empty("out", (image, image), np.uint32)
    device.launch(
        "d_render", (4, 4), (16, 16), result, np.uint32(image), np.uint32(image), 0.3, shown
    )
    y, x = np.mgrid[:image, :image] * (size / image) - 0.5
    places = [np.full_like(x, float(np.float32(0.3)) * size - 0.5), y, x]
    expected = map_coordinates(volume.astype(np.float64), places, order=1, mode="grid-wrap")
    allowed = 3 * _HALF_STEP * 255 + 1
    return [near("slice", result.view(), expected, allowed, "8-bit weights; cut to whole numbers")]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/convolutionTexture/convolutionTexture.cu",
    "convolutionRowsKernel",
    "convolutionColumnsKernel",
    computes="separable convolution through a texture, edges clamped",
    includes=_COMMON,
)
def convolution_texture(device: Device) -> Sequence[Check]:
    width, height, radius = 96, 48, 8
    rng = np.random.default_rng(96)
    taps = rng.integers(0, 16, 2 * radius + 1).astype(np.float32)
    image = rng.integers(0, 16, (height, width)).astype(np.float32)
    device.constant("c_Kernel", taps)
    rows, result = device.empty("rows", image.shape), device.empty("out", image.shape)
    grid, block = (width // 16, height // 12), (16, 12)
    device.launch(
        "convolutionRowsKernel", grid, block, rows, width, height, device.texture("image", image)
    )
    device.launch(
        "convolutionColumnsKernel", grid, block, result, width, height, device.texture_of(rows)
    )
    expected_rows = correlate1d(image.astype(np.float64), taps[::-1], axis=1, mode="nearest")
    expected = correlate1d(expected_rows, taps[::-1], axis=0, mode="nearest")
    return [
        exact("rows of whole numbers", rows.view(), expected_rows),
        exact("columns of whole numbers", result.view(), expected),
    ]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/bilateralFilter/bilateral_kernel.cu",
    "d_bilateral_filter",
    computes="bilateral filter of a colour image",
    includes=_COMMON,
)
def bilateral_filter(device: Device) -> Sequence[Check]:
    width, height, radius, spread = 64, 48, 3, 0.1
    image = np.random.default_rng(97).integers(0, 256, (height, width, 4), np.uint8)
    gaussian = np.exp(-((np.arange(64) - radius) ** 2) / 8.0).astype(np.float32)
    device.constant("cGaussian", gaussian)
    shown = device.texture("image", image, read="normalized")
    result = device.empty("out", (height, width), np.uint32)
    device.launch(
        "d_bilateral_filter", (width // 16, height // 16), (16, 16),
        result, width, height, spread, radius, shown,
    )  # fmt: skip
    pixels = image / 255.0
    padded = np.pad(pixels, ((radius, radius), (radius, radius), (0, 0)), mode="edge")
    total, weights = np.zeros(image.shape), np.zeros((height, width, 1))
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            near_by = padded[i : i + height, j : j + width]
            apart = ((near_by - pixels)[..., :3] ** 2).sum(2, keepdims=True)
            weight = gaussian[i] * gaussian[j] * np.exp(-apart / (2 * spread**2))
            total, weights = total + weight * near_by, weights + weight
    found = result.view().view(np.uint8).reshape(image.shape)
    return [near("image", found, total / weights * 255, 1.0 + 1e-3, "cut to whole numbers")]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/dct8x8/dct8x8.cu",
    "CUDAkernel1DCT",
    computes="cosine transform of 8x8 blocks read through a texture",
    includes=_COMMON,
)
def dct_texture(device: Device) -> Sequence[Check]:
    width, height = 64, 32
    image = np.random.default_rng(98).integers(-128, 128, (height, width)).astype(np.float32)
    result = device.empty("out", image.shape)
    device.launch(
        "CUDAkernel1DCT", (width // 8, height // 8), (8, 8),
        result, width, 0, 0, device.texture("image", image),
    )  # fmt: skip
    tiles = image.astype(np.float64).reshape(height // 8, 8, width // 8, 8)
    expected = dctn(tiles, axes=(1, 3), norm="ortho").reshape(image.shape)
    return [rounded("spectrum", result.view(), expected, 20, scale=1024.0)]
