"""The CUDA samples' kernels of finance, physics, signals and random numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from scipy.special import ndtr, ndtri

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, near, rounded
from benchmarks.real_kernels.registry import real_program

_DOMAIN = "Samples/5_Domain_Specific"
_COMMON = ("cuda-samples/Common",)
Wide = NDArray[np.float64]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/BlackScholes/BlackScholes.cu",
    "BlackScholesGPU",
    computes="prices of European options, fast exponentials and logarithms",
    includes=_COMMON,
)
def black_scholes(device: Device) -> Sequence[Check]:
    count, riskless, volatility = 4096, 0.02, 0.30
    rng = np.random.default_rng(70)
    price, strike, years = (
        rng.uniform(low, high, count).astype(np.float32)
        for low, high in ((5, 30), (1, 100), (0.25, 10))
    )
    call, put = device.empty("call", count), device.empty("put", count)
    device.launch(
        "BlackScholesGPU", count // 2 // 128, 128,
        call, put, device.array("price", price), device.array("strike", strike),
        device.array("years", years), riskless, volatility, count,
    )  # fmt: skip
    s, x, t = (v.astype(np.float64) for v in (price, strike, years))
    r, v = float(np.float32(riskless)), float(np.float32(volatility))
    d1 = (np.log(s / x) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    discounted = x * np.exp(-r * t)
    calls = s * ndtr(d1) - discounted * ndtr(d2)
    puts = discounted * ndtr(-d2) - s * ndtr(-d1)
    # The normal distribution is a polynomial good to 7.5e-8 (Abramowitz and Stegun, 26.2.17),
    # less than one rounding of a float; some forty roundings make up d1, d2 and the prices.
    return [
        rounded("call", call.view(), calls, 40, scale=s + x),
        rounded("put", put.view(), puts, 40, scale=s + x),
    ]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/binomialOptions/binomialOptions_kernel.cu",
    "binomialOptionsKernel",
    computes="prices of options by a binomial tree of 2,048 levels, a block per option",
    includes=_COMMON,
)
def binomial_options(device: Device) -> Sequence[Check]:
    options, steps, most = 6, 2048, 1024
    rng = np.random.default_rng(71)
    stock, strike, years = rng.uniform([5, 1, 0.25], [30, 100, 10], (options, 3)).T
    interval = years / steps
    spread = 0.10 * np.sqrt(interval)
    growth = np.exp(0.06 * interval)
    up, down = np.exp(spread), np.exp(-spread)
    likely = (growth - down) / (up - down)
    table = np.zeros((most, 5), np.float32)
    table[:options] = np.stack([stock, strike, spread, likely / growth, (1 - likely) / growth], 1)
    device.constant("d_OptionData", table)
    device.launch("binomialOptionsKernel", options, 128)
    s, x, width, rise, fall = (c[:, None].astype(np.float64) for c in table[:options].T)
    ends = s * np.exp(width * (2.0 * np.arange(steps + 1) - steps))
    value = np.maximum(ends - x, 0)
    for _ in range(steps):
        value = rise * value[:, 1:] + fall * value[:, :-1]
    found = device.symbol("d_CallValue", np.float32).view()[:options]
    # Two roundings per level, and those of the exponentials at the start.
    return [rounded("call", found, value[:, 0], 2 * steps + 40, scale=s[:, 0] + x[:, 0])]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/dwtHaar1D/dwtHaar1D.cu",
    "dwtHaar1D",
    "initValue",
    computes="Haar wavelet transform, all levels in shared memory",
    includes=_COMMON,
)
def dwt_haar(device: Device) -> Sequence[Check]:
    size, levels = 1024, 10
    signal = np.random.default_rng(72).uniform(-1, 1, size).astype(np.float32)
    details, last = device.empty("details", size), device.empty("approximation", 1)
    device.launch("initValue", size // 256, 256, details, 0.0)
    device.launch(
        "dwtHaar1D", 1, size // 2,
        device.array("signal", signal), details, last,
        np.uint32(levels), np.uint32(size // 2), size // 2, shared=2 * size * 4,
    )  # fmt: skip
    rest, expected = signal.astype(np.float64), np.zeros(size)
    while rest.size > 1:
        even, odd = rest[::2], rest[1::2]
        expected[rest.size // 2 : rest.size] = (even - odd) / np.sqrt(2)
        rest = (even + odd) / np.sqrt(2)
    return [
        rounded("details", details.view(), expected, 3 * levels, scale=size**0.5),
        rounded("approximation", last.view(), rest, 3 * levels, scale=size**0.5),
    ]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/fastWalshTransform/fastWalshTransform.cu",
    "fwtBatch2Kernel",
    "fwtBatch1Kernel",
    "modulateKernel",
    computes="Walsh transform, long strides in global and short ones in shared memory",
    includes=_COMMON,
)
def fast_walsh(device: Device) -> Sequence[Check]:
    log_size = 13
    size = 1 << log_size
    data = np.random.default_rng(73).integers(-8, 8, size).astype(np.float32)
    values = device.array("data", data)
    device.launch("fwtBatch2Kernel", size // 1024, 256, values, values, size // 4)
    device.launch(
        "fwtBatch1Kernel", 4, size // 16, values, values, log_size - 2, shared=size // 4 * 4
    )
    transformed = values.view().copy()
    weights = np.random.default_rng(74).uniform(0, 1, size).astype(np.float32)
    device.launch("modulateKernel", 8, 256, values, device.array("weights", weights), size)
    small = hadamard(1 << 6), hadamard(1 << 7)
    expected = (small[0] @ data.astype(np.float64).reshape(1 << 6, 1 << 7) @ small[1]).ravel()
    return [
        exact("transform of whole numbers", transformed, expected),
        rounded("modulated", values.view(), expected * weights / size, 2),
    ]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/quasirandomGenerator/quasirandomGenerator_kernel.cu",
    "quasirandomGeneratorKernel",
    "inverseCNDKernel",
    computes="Niederreiter sequence, and normal deviates from it",
    includes=_COMMON,
)
def quasirandom(device: Device) -> Sequence[Check]:
    dimensions, bits, count, seed = 3, 31, 2048, 5
    rng = np.random.default_rng(75)
    table = rng.integers(0, 1 << 31, (dimensions, bits), np.uint32)
    device.constant("c_Table", table)
    sequence, normal = device.empty("sequence", (dimensions, count)), device.empty("normal", count)
    device.launch(
        "quasirandomGeneratorKernel", 4, (128, dimensions),
        sequence, np.uint32(seed), np.uint32(count),
    )  # fmt: skip
    device.launch("inverseCNDKernel", 4, 128, normal, None, np.uint32(count))
    numbers = seed + np.arange(count, dtype=np.uint32)
    mixed = np.zeros((dimensions, count), np.uint32)
    for bit in range(bits):
        mixed ^= np.where(numbers >> bit & 1, table[:, bit : bit + 1], 0).astype(np.uint32)
    step = (2**32 - 1) // (count + 1)
    places = (np.arange(1, count + 1) * step + 0.5) / 2**32
    return [
        exact("sequence", sequence.view(), (mixed + np.uint32(1)).astype(np.float32) / 2**31),
        # Moro's formula is good to 3e-9; its variable p - 1/2 loses 2**-25 to rounding, and its
        # coefficients of up to 41 carry that on; __logf errs by 2**-21.
        near("normal", normal.view(), ndtri(places), 5e-6, "float roundings of Moro's formula"),
    ]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/SobolQRNG/sobol_gpu.cu",
    "sobolGPU_kernel",
    computes="Sobol' sequence in Gray-code order",
    includes=_COMMON,
)
def sobol(device: Device) -> Sequence[Check]:
    vectors, dimensions, bits = 4000, 3, 32
    directions = np.random.default_rng(76).integers(0, 1 << 32, (dimensions, bits), np.uint32)
    result = device.empty("out", (dimensions, vectors))
    device.launch(
        "sobolGPU_kernel", (16, dimensions), 64,
        np.uint32(vectors), np.uint32(dimensions), device.array("directions", directions), result,
    )  # fmt: skip
    number = np.arange(vectors, dtype=np.uint32)
    gray = number ^ (number >> 1)
    expected = np.zeros((dimensions, vectors), np.uint32)
    for bit in range(bits):
        expected ^= np.where(gray >> bit & 1, directions[:, bit : bit + 1], 0).astype(np.uint32)
    return [exact("sequence", result.view(), expected.astype(np.float32) * np.float32(2.0**-32))]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/FDTD3d/src/FDTD3dGPU.cu",
    "FiniteDifferencesKernel",
    computes="star stencil of radius 4 in three dimensions, planes in shared memory",
    includes=(*_COMMON, f"cuda-samples/{_DOMAIN}/FDTD3d/inc"),
)
def fdtd3d(device: Device) -> Sequence[Check]:
    x, y, z, radius = 64, 32, 20, 4
    rng = np.random.default_rng(77)
    field = rng.uniform(-1, 1, (z + 2 * radius, y + 2 * radius, x + 2 * radius)).astype(np.float32)
    weights = np.array([0.3, 0.1, 0.05, 0.02, 0.01], np.float32)
    device.constant("stencil", weights)
    result = device.zeros("out", field.shape)
    device.launch(
        "FiniteDifferencesKernel", (x // 32, y // 16), (32, 16),
        result, device.array("in", field), x, y, z,
    )  # fmt: skip

    def star(values: Wide) -> Wide:
        inner = tuple(slice(radius, -radius) for _ in range(3))
        total = weights[0] * values[inner]
        for reach in range(1, radius + 1):
            for axis in range(3):
                for move in (-reach, reach):
                    total = total + weights[reach] * np.roll(values, move, axis)[inner]
        return np.asarray(total)

    wide = field.astype(np.float64)
    found = np.ascontiguousarray(result.view()[radius:-radius, radius:-radius, radius:-radius])
    return [rounded("field", found, star(wide), 7 * radius + 1, scale=star(abs(wide)))]


@real_program(
    "cuda-samples",
    f"{_DOMAIN}/nbody/bodysystemcuda.cu",
    "integrateBodies<float>",
    "integrateBodies<double>",
    computes="gravitation of all bodies on all bodies, tiles in shared memory",
    includes=_COMMON,
)
def nbody(device: Device) -> Sequence[Check]:
    bodies, threads, step, damping = 512, 128, 0.016, 0.995
    rng = np.random.default_rng(78)
    start = rng.uniform(-1, 1, (bodies, 4))
    start[:, 3] = rng.uniform(0.5, 2, bodies)
    speed = rng.uniform(-1, 1, (bodies, 4))
    checks = []
    for kind, dtype, symbol in (
        ("float", np.float32, "softeningSquared"),
        ("double", np.float64, "softeningSquared_fp64"),
    ):
        softening = dtype(0.01)
        device.constant(symbol, np.array([softening]))
        old, moving = start.astype(dtype), speed.astype(dtype)
        new = device.zeros(f"new_{kind}", (bodies, 4), dtype)
        velocity = device.array(f"velocity_{kind}", moving)
        device.launch(
            f"integrateBodies<{kind}>", bodies // threads, threads,
            new, device.array(f"old_{kind}", old), velocity,
            np.uint32(0), np.uint32(bodies), step, damping, bodies // threads,
            shared=threads * 4 * np.dtype(dtype).itemsize,
        )  # fmt: skip
        place, mass = old[:, :3].astype(np.float64), old[:, 3].astype(np.float64)
        apart = place[None, :, :] - place[:, None, :]
        pull = mass * ((apart**2).sum(2) + float(softening)) ** -1.5
        time, slower = float(np.float32(step)), float(np.float32(damping))
        accelerated = (pull[..., None] * apart).sum(1)
        size = (pull[..., None] * abs(apart)).sum(1) * time + 2
        moved = (moving[:, :3] + accelerated * time) * slower
        found = velocity.view()
        checks += [
            rounded(f"velocity, {kind}", found[:, :3].copy(), moved, bodies + 20, scale=size),
            rounded(
                f"place, {kind}", new.view()[:, :3].copy(), place + moved * time, bodies + 20,
                scale=size,
            ),
        ]  # fmt: skip
    return checks
