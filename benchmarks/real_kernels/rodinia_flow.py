"""Rodinia's kernels of fluid flow, wavelets and histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import Drive, real_program
from benchmarks.real_kernels.rodinia_grids import diffused

Wide = NDArray[np.float64]
_GAMMA = 1.4
_SMOOTHING = float(np.float32(0.2))
"""A float in the double-precision program too."""


def _flux_terms(state: Wide, sign: int) -> tuple[Wide, Wide, Wide, Wide]:
    """Pressure, speed, speed of sound and flux contributions of (cells, 5) states.

    With ``sign`` 1, differences become sums of magnitudes, which bound roundings.
    """
    density, momentum, energy = state[:, 0], state[:, 1:4], state[:, 4]
    velocity = momentum / density[:, None]
    squared = (velocity**2).sum(1)
    pressure = (_GAMMA - 1) * (energy + sign * 0.5 * density * squared)
    sound = np.sqrt(_GAMMA * pressure / density)
    flux = velocity[:, :, None] * momentum[:, None, :] + pressure[:, None, None] * np.eye(3)
    energy_flux = velocity * (energy + pressure)[:, None]
    return pressure, np.sqrt(squared), sound, np.concatenate([flux, energy_flux[:, None]], 1)


def _fluxes(state: Wide, around: NDArray[np.int32], normals: Wide, far: Wide, sign: int) -> Wide:
    """Finite-volume fluxes of the Euler equations (Corrigan et al., AIAA 2009-4001).

    ``around`` (cells, 4) names the neighbour behind each face, -1 a wall, -2 the far field.
    """
    pressure, speed, sound, flux = _flux_terms(state, sign)
    far_flux = _flux_terms(far[None], sign)[3]
    total = np.zeros_like(state)
    for face in range(4):
        normal, behind = normals[:, face], around[:, face]
        inside, wall, open_air = behind >= 0, behind == -1, behind == -2
        other = np.where(inside, behind, 0)
        apart = state[other] if sign > 0 else -state[other]
        length = np.sqrt((normal**2).sum(1))
        drag = sign * length * _SMOOTHING * 0.5 * (speed + speed[other] + sound + sound[other])
        part = drag[:, None] * (state + apart)
        for axis in range(3):
            half = 0.5 * normal[:, axis]
            part[:, 0] += half * (state[other, 1 + axis] + state[:, 1 + axis])
            part[:, 4] += half * (flux[other, 3, axis] + flux[:, 3, axis])
            for along in range(3):
                part[:, 1 + along] += half * (flux[other, along, axis] + flux[:, along, axis])
        total[inside] += part[inside]
        pushed = np.zeros_like(state)
        pushed[:, 1:4] = normal * pressure[:, None]
        total[wall] += pushed[wall]
        out = np.zeros_like(state)
        for axis in range(3):
            half = 0.5 * normal[:, axis]
            out[:, 0] += half * (far[1 + axis] + state[:, 1 + axis])
            out[:, 4] += half * (far_flux[0, 3, axis] + flux[:, 3, axis])
            for along in range(3):
                out[:, 1 + along] += half * (far_flux[0, along, axis] + flux[:, along, axis])
        total[open_air] += out[open_air]
    return total


def _euler(dtype: type[np.floating]) -> Drive:
    def drive(device: Device) -> Sequence[Check]:
        cells = 192 * 5
        rng = np.random.default_rng(100)
        far = np.array([1.4, 1.4 * 1.2, 0, 0, 1.4 * 0.5 * 1.44 + 1 / (_GAMMA - 1)], dtype)
        far_flux = _flux_terms(far.astype(np.float64)[None], -1)[3][0].astype(dtype)
        device.constant("ff_variable", far)
        for row, axis in enumerate("xyz"):
            device.constant(f"ff_flux_contribution_momentum_{axis}", far_flux[row])
        device.constant("ff_flux_contribution_density_energy", far_flux[3])
        around = rng.integers(-2, cells, (cells, 4)).astype(np.int32)
        around[rng.uniform(size=around.shape) < 0.1] = -1
        around[rng.uniform(size=around.shape) < 0.1] = -2
        normals = rng.uniform(-1, 1, (cells, 4, 3)).astype(dtype)
        areas = rng.uniform(0.5, 2, cells).astype(dtype)
        noise = rng.uniform(0.9, 1.1, (cells, 5))
        state = (noise * (far + np.array([0, 0, 0.1, 0.1, 0]))).astype(dtype)

        fresh = device.zeros("fresh", (5, cells), dtype)
        device.launch("cuda_initialize_variables", cells // 192, 192, cells, fresh)
        old = device.array("old", state.T)
        variables, factors = (
            device.array("variables", state.T),
            device.zeros("factors", cells, dtype),
        )
        fluxes = device.zeros("fluxes", (5, cells), dtype)
        device.launch(
            "cuda_compute_step_factor", cells // 192, 192,
            cells, variables, device.array("areas", areas), factors,
        )  # fmt: skip
        device.launch(
            "cuda_compute_flux", cells // 192, 192,
            cells, device.array("around", around.T),
            device.array("normals", normals.transpose(2, 1, 0)), variables, fluxes,
        )  # fmt: skip
        device.launch(
            "cuda_time_step", cells // 192, 192, 1, cells, old, variables, factors, fluxes
        )
        wide = state.astype(np.float64)
        _, speed, sound, _ = _flux_terms(wide, -1)
        step = 0.5 / (np.sqrt(areas.astype(np.float64)) * (speed + sound))
        expected = _fluxes(wide, around, normals.astype(np.float64), far.astype(np.float64), -1)
        size = _fluxes(
            wide, around, abs(normals.astype(np.float64)), abs(far.astype(np.float64)), 1
        )
        moved = wide + step[:, None] / 3 * expected
        # A pressure is a difference of energies; ten times its roundings cover what is lost.
        return [
            exact("start", fresh.view(), np.repeat(far[:, None], cells, 1)),
            rounded("step", factors.view(), step, 200),
            rounded("flux", fluxes.view(), expected.T, 200, scale=size.T),
            rounded("state", variables.view(), moved.T, 200, scale=(abs(wide) + size).T),
        ]

    drive.__name__ = f"euler3d_{np.dtype(dtype).name}"
    return drive


for _type, _file in ((np.float32, "euler3d.cu"), (np.float64, "euler3d_double.cu")):
    real_program(
        "rodinia",
        f"cuda/cfd/{_file}",
        "cuda_initialize_variables",
        "cuda_compute_step_factor",
        "cuda_compute_flux",
        "cuda_time_step",
        computes="Euler equations on an unstructured grid: gathers over faces of cells",
        includes=("cuda-samples/Common",),
    )(_euler(_type))


@real_program(
    "rodinia",
    "cuda/srad/srad_v2/srad.cu",
    "srad_cuda_1",
    "srad_cuda_2",
    computes="speckle-reducing diffusion in shared tiles",
)
def srad_v2(device: Device) -> Sequence[Check]:
    rows, columns, strength = 48, 64, 0.5
    image = np.exp(np.random.default_rng(101).uniform(0, 1, (rows, columns))).astype(np.float32)
    # The kernels read up to a row before and a row after their arrays, and leave the value unused;
    # on a device other allocations lie there. Here the arrays lie in the middle of larger ones.
    around = np.zeros((rows + 2, columns), np.float32)
    around[1:-1] = image
    pixels, coefficients = device.array("J", around), device.zeros("C", around.shape)
    slopes = [device.zeros(name, image.shape) for name in ("E", "W", "N", "S")]
    wide = image.astype(np.float64)
    spread = float(np.float32(wide.var() / wide.mean() ** 2))
    grid, block = (columns // 16, rows // 16), (16, 16)
    shown = pixels.at(1, 0), coefficients.at(1, 0)
    device.launch("srad_cuda_1", grid, block, *slopes, *shown, columns, rows, spread)
    device.launch("srad_cuda_2", grid, block, *slopes, *shown, columns, rows, strength, spread)
    expected, c = diffused(wide, strength, spread)
    return [
        rounded("coefficients", coefficients.view()[1:-1].copy(), c, 60, scale=1.0 / spread),
        rounded("image", pixels.view()[1:-1].copy(), expected, 60, scale=3.0),
    ]


def _mirrored(x: Wide, axis: int, shift: int) -> Wide:
    """Elements ``shift`` further along ``axis``, the edge element as the mirror."""
    size = x.shape[axis]
    index = np.abs(np.arange(size) + shift)
    index = np.where(index >= size, 2 * (size - 1) - index, index)
    return np.asarray(np.take(x, index, axis))


def _lifted(image: Wide, steps: Sequence[Callable[[Wide, Wide], Wide]]) -> Wide:
    """Lifting steps along columns, then rows, of odd and even elements in turn."""
    for axis in (0, 1):
        parity = np.arange(image.shape[axis]) % 2
        odd = (parity[:, None] if axis == 0 else parity[None, :]).astype(bool)
        for number, step in enumerate(steps):
            both = _mirrored(image, axis, -1), _mirrored(image, axis, 1)
            changed = image + step(*both)
            image = np.where(odd if number % 2 == 0 else ~odd, changed, image)
    return image


def _bands(image: Wide) -> Wide:
    """The four bands one after another: low, high along rows, along columns, along both."""
    parts = [image[down::2, across::2].ravel() for down in (0, 1) for across in (0, 1)]
    return np.concatenate(parts).reshape(image.shape)


# ITU-T T.800 (JPEG 2000), annex F: the reversible 5/3 filter with quotients cut towards zero, as
# C has it, and the irreversible 9/7 filter.
_STEPS_53 = (
    lambda p, n: -np.trunc((p + n) / 2),
    lambda p, n: np.trunc((p + n + 2) / 4),
)
_STEPS_97 = tuple(
    (lambda p, n, factor=factor: factor * (p + n))
    for factor in (-1.586134342, -0.05298011854, 0.8829110762, 0.4435068522)
)
_SCALE_97 = 1.23017410491400


def _forward_53(image: Wide) -> Wide:
    return _bands(_lifted(image, _STEPS_53))


def _forward_97(image: Wide) -> Wide:
    lifted = _lifted(image, _STEPS_97)
    for axis in (0, 1):
        parity = np.arange(lifted.shape[axis]) % 2
        factor = np.where(parity, _SCALE_97, 1 / _SCALE_97)
        lifted = lifted * (factor[:, None] if axis == 0 else factor[None, :])
    return _bands(lifted)


def _wavelet(kernel: str, dtype: type[np.generic], forward: Callable[[Wide], Wide]) -> Drive:
    def drive(device: Device) -> Sequence[Check]:
        width, height = 128, 96
        image = np.random.default_rng(102).integers(-128, 128, (height, width)).astype(np.float64)
        bands = forward(image)
        given, expected = (bands, image) if kernel.startswith("r") else (image, bands)
        result = device.zeros("out", image.shape, dtype)
        device.launch(
            f"dwt_cuda::{kernel}<64, 8>", (width // 64, height // 8), 64,
            device.array("in", given.astype(dtype)), result, width, height, 1,
        )  # fmt: skip
        if dtype is np.int32:
            return [exact("image", result.view(), expected.astype(np.int32))]
        # Sixteen lifting steps and scalings, each a product and two sums of values up to 1024.
        return [rounded("image", result.view(), expected, 3 * 16, scale=1024.0)]

    drive.__name__ = kernel.removesuffix("Kernel")
    return drive


for _kernel, _element, _forward, _what in (
    ("fdwt53Kernel", np.int32, _forward_53, "reversible wavelet transform"),
    ("rdwt53Kernel", np.int32, _forward_53, "reversible wavelet transform, back"),
    ("fdwt97Kernel", np.float32, _forward_97, "irreversible wavelet transform"),
    ("rdwt97Kernel", np.float32, _forward_97, "irreversible wavelet transform, back"),
):
    real_program(
        "rodinia",
        f"cuda/dwt2d/dwt_cuda/{_kernel.removesuffix('Kernel')}.cu",
        f"dwt_cuda::{_kernel}<64, 8>",
        computes=f"{_what}, a window sliding down in shared memory",
    )(_wavelet(_kernel, _element, _forward))


@real_program(
    "rodinia",
    "cuda/dwt2d/components.cu",
    "c_CopySrcToComponents<int>",
    "c_CopySrcToComponents<float>",
    computes="colour image into three planes, bytes through shared memory",
)
def colour_planes(device: Device) -> Sequence[Check]:
    pixels, padded = 1000, 1024
    image = np.zeros((padded, 3), np.uint8)
    image[:pixels] = np.random.default_rng(103).integers(0, 256, (pixels, 3))
    given = device.array("image", image)
    checks = []
    for kind, dtype in (("int", np.int32), ("float", np.float32)):
        planes = [device.zeros(f"{colour}_{kind}", pixels, dtype) for colour in "rgb"]
        device.launch(f"c_CopySrcToComponents<{kind}>", padded // 256, 256, *planes, given, pixels)
        for channel, plane in enumerate(planes):
            values = image[:pixels, channel]
            if kind == "int":
                checks.append(exact(plane.name, plane.view(), values.astype(np.int32) - 128))
            else:
                checks.append(rounded(plane.name, plane.view(), values / 255 - 0.5, 2, scale=1.0))
    return checks


@real_program(
    "rodinia",
    "cuda/hybridsort/histogram1024_kernel.cu",
    "histogram1024Kernel",
    computes="histogram of floats, counters tagged by the writing lane",
)
def histogram1024(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(104).beta(2, 5, 20_000).astype(np.float32)
    result = device.zeros("histogram", 1024, np.uint32)
    low, high = np.float32(0), np.float32(1)
    device.launch(
        "histogram1024Kernel", 8, 96, result, device.array("data", data), low, high, data.size
    )
    bins = ((data - low) / (high - low) * np.float32(1024)).astype(np.uint32) & 0x3FF
    return [exact("histogram", result.view(), np.bincount(bins, minlength=1024))]


@real_program(
    "rodinia",
    "cuda/kmeans/kmeans_cuda_kernel.cu",
    "invert_mapping",
    computes="points from rows to columns",
)
def kmeans_invert(device: Device) -> Sequence[Check]:
    points, features = 3000, 34
    data = np.random.default_rng(105).uniform(0, 1, (points, features)).astype(np.float32)
    result = device.zeros("out", (features, points))
    device.launch(
        "invert_mapping", -(-points // 256), 256,
        device.array("in", data), result, points, features,
    )  # fmt: skip
    return [exact("columns", result.view(), data.T)]
