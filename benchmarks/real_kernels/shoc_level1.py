"""SHOC's basic parallel algorithms: sums, scans, sorting, stencil, Fourier transform, search."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import numpy as np
from scipy.signal import convolve2d

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import Drive, real_program
from placewise.executor import DeviceArray

_HEADERS = ("shoc/src/common", "shoc/src/cuda/common")
_CONFIGURED = (("HAVE_GETTIMEOFDAY", "1"),)
"""What the suite's configure script would say in config.h."""


def _reduction(dtype: type[np.floating]) -> Drive:
    def drive(device: Device) -> Sequence[Check]:
        blocks, threads = 64, 256
        data = (np.arange(blocks * threads * 2 * 3) % 3).astype(dtype)
        sums = device.zeros("sums", blocks, dtype)
        kind = "float" if dtype is np.float32 else "double"
        device.launch(
            f"reduce<{kind}, 256>", blocks, threads,
            device.array("data", data), sums, np.uint32(data.size), shared=threads * data.itemsize,
        )  # fmt: skip
        return [exact("sum of sums of small whole numbers", sums.view().sum(), data.sum())]

    drive.__name__ = f"reduction_{dtype.__name__}"
    return drive


for _type, _name in ((np.float32, "float"), (np.float64, "double")):
    real_program(
        "shoc",
        "src/cuda/level1/reduction/Reduction.cu",
        f"reduce<{_name}, 256>",
        computes=f"sums of {_name}s in shared memory, warps in lockstep",
        std="c++14",
        includes=_HEADERS,
        empty_headers=("config.h",),
        defines=_CONFIGURED,
    )(_reduction(_type))


@real_program(
    "shoc",
    "src/cuda/level1/scan/Scan.cu",
    "reduce<float, 256>",
    "scan_single_block<float, 256>",
    "bottom_scan<float, float4, 256>",
    computes="inclusive scan in three launches",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def scan(device: Device) -> Sequence[Check]:
    blocks, threads = 64, 256
    data = np.random.default_rng(20).integers(0, 10, 64 * 4 * 200).astype(np.float32)
    given, result = device.array("in", data), device.zeros("out", data.size)
    sums = device.zeros("sums", blocks)
    shared = threads * 4
    device.launch("reduce<float, 256>", blocks, threads, given, sums, data.size, shared=shared)
    device.launch("scan_single_block<float, 256>", 1, threads, sums, blocks, shared=2 * shared)
    device.launch(
        "bottom_scan<float, float4, 256>", blocks, threads,
        given, result, sums, data.size, shared=2 * shared,
    )  # fmt: skip
    return [exact("running sums", result.view(), np.cumsum(data, dtype=np.float64))]


@real_program(
    "shoc",
    "src/cuda/level1/sort/sort_kernel.cu",
    "radixSortBlocks",
    "findRadixOffsets",
    "scan",
    "vectorAddUniform4",
    "reorderData",
    computes="radix sort of keys with values, four bits per round",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def radix_sort(device: Device) -> Sequence[Check]:
    count, rounds = 64 * 512, 2
    rng = np.random.default_rng(21)
    data = rng.integers(0, 1 << (4 * rounds), count, np.uint32)
    keys, values = device.array("keys", data), device.array("values", np.arange(count, dtype="u4"))
    spare_keys = device.zeros("spare_keys", count, np.uint32)
    spare_values = device.zeros("spare_values", count, np.uint32)
    blocks = count // 512
    counters = device.zeros("counters", 16 * blocks, np.uint32)
    sums = device.zeros("sums", 16 * blocks, np.uint32)
    offsets = device.zeros("offsets", 16 * blocks, np.uint32)
    block_sums = device.zeros("block_sums", 16 * blocks // 1024, np.uint32)
    for shift in range(0, 4 * rounds, 4):
        device.launch(
            "radixSortBlocks", count // 512, 128,
            np.uint32(4), np.uint32(shift), spare_keys, spare_values, keys, values, shared=2048,
        )  # fmt: skip
        device.launch(
            "findRadixOffsets", blocks, 256,
            spare_keys, counters, offsets, np.uint32(shift), np.uint32(count), np.uint32(blocks),
            shared=2048,
        )  # fmt: skip
        _scan(device, [sums, block_sums], counters, 16 * blocks)
        device.launch(
            "reorderData", blocks, 256,
            np.uint32(shift), keys, values, spare_keys, spare_values, offsets, sums, counters,
            np.uint32(blocks),
        )  # fmt: skip
    order = np.argsort(data, kind="stable")
    return [exact("keys", keys.view(), data[order]), exact("values", values.view(), order)]


def _scan(device: Device, levels: list[DeviceArray], given: DeviceArray, count: int) -> None:
    """The suite's recursive scan into ``levels[0]``, 1,024 elements per block."""
    result, *rest = levels
    blocks = max(1, -(-count // 1024))
    device.launch(
        "scan", blocks, 256,
        result, given, rest[0] if rest else None, count,
        np.bool_(count == blocks * 1024), np.bool_(blocks > 1), shared=2048,
    )  # fmt: skip
    if blocks > 1:
        # The sums of blocks are scanned in place.
        _scan(device, rest, rest[0], blocks)
        device.launch("vectorAddUniform4", blocks, 256, result, rest[0], count)


def _stencil(dtype: type[np.floating]) -> Drive:
    def drive(device: Device) -> Sequence[Check]:
        rows, columns, strip, width, pad, steps = 64, 64, 8, 32, 16, 3
        padded = -(-(columns + 2) // pad) * pad
        rng = np.random.default_rng(22)
        start = np.zeros((rows + 2, padded), dtype)
        start[:, : columns + 2] = rng.uniform(0, 1, (rows + 2, columns + 2))
        grids = [device.array("grid0", start), device.array("grid1", start)]
        kind = "float" if dtype is np.float32 else "double"
        weights = (dtype(0.25), dtype(0.15), dtype(0.05))
        for _ in range(steps):
            device.launch(
                f"StencilKernel<{kind}>", (rows // strip, columns // width), (1, width),
                *grids, pad, strip, *weights,
                shared=(strip + 2) * (width + 2) * start.itemsize,
            )  # fmt: skip
            grids.reverse()
        centre, side, corner = (float(w) for w in weights)
        mask = np.full((3, 3), corner)
        mask[1], mask[:, 1], mask[1, 1] = side, side, centre
        mask[1, 0] = mask[1, 2] = side
        expected = start[:, : columns + 2].astype(np.float64)
        for _ in range(steps):
            inner = convolve2d(expected, mask, mode="valid")
            expected = np.pad(inner, 1)
            frame = start[:, : columns + 2].astype(np.float64)
            expected[0], expected[-1] = frame[0], frame[-1]
            expected[:, 0], expected[:, -1] = frame[:, 0], frame[:, -1]
        found = np.ascontiguousarray(grids[0].view()[:, : columns + 2])
        return [rounded("grid", found, expected, 12 * steps, scale=1.05**steps)]

    drive.__name__ = f"stencil2d_{dtype.__name__}"
    return drive


for _type, _name in ((np.float32, "float"), (np.float64, "double")):
    real_program(
        "shoc",
        "src/cuda/level1/stencil2d/CUDAStencilKernel.cu",
        f"StencilKernel<{_name}>",
        computes=f"nine-point stencil of {_name}s, strips in shared memory",
        std="c++14",
        includes=_HEADERS,
        empty_headers=("config.h",),
        defines=_CONFIGURED,
    )(_stencil(_type))


def _fft(dtype: type[np.floating], kind: str) -> Drive:
    def drive(device: Device) -> Sequence[Check]:
        batch = 8
        complex_type = np.result_type(dtype, np.complex64)
        rng = np.random.default_rng(23)
        half = rng.uniform(-1, 1, (batch // 2, 512, 2)) @ np.array([1, 1j])
        signal = np.concatenate([half, half]).astype(complex_type)
        work = device.array("work", signal)
        vector = f"{kind}2"
        device.launch(f"FFT512_device<{vector}, {kind}>", batch, 64, work)
        transformed = work.view().copy()
        failed = device.zeros("failed", 1, np.int8)
        device.launch(f"chk512_device<{vector}>", batch // 2, 64, work, batch // 2 * 512, failed)
        device.launch(f"IFFT512_device<{vector}, {kind}>", batch, 64, work)
        back = work.view().copy()
        device.launch(f"norm512_device<{vector}>", batch, 64, work)
        # Relative error of a transform: log2(n) stages of some 5 roundings (Higham 2002, theorem
        # 24.2), and twiddle factors from __sinf and __cosf, whatever the type: they err by up to
        # 2**-21.4 in [-pi, pi] (CUDA C++ Programming Guide, intrinsic functions) and are computed
        # from angles of up to 7/8 * 2 pi that were rounded to float.
        wide = signal.astype(np.complex128)
        size = np.sqrt((abs(wide) ** 2).sum(1, keepdims=True))
        real, plain = np.dtype(dtype), wide.view(np.float64)
        roundings = 9 * 8 if dtype is np.float32 else 9 * 8 * 2.0**29
        return [
            rounded(
                "transform",
                np.ascontiguousarray(transformed).view(real),
                np.fft.fft(wide).view(np.float64),
                roundings,
                scale=size,
            ),
            exact("halves alike", failed.view(), [0]),
            rounded("back", back.view(real), plain, 2 * roundings, scale=size / 512**0.5),
            rounded("divided", work.view().view(real), plain / 512, 2 * roundings, scale=1.0),
        ]

    drive.__name__ = f"fft_{kind}"
    return drive


for _type, _name in ((np.float32, "float"), (np.float64, "double")):
    real_program(
        "shoc",
        "src/cuda/level1/fft/fftlib.cu",
        f"FFT512_device<{_name}2, {_name}>",
        f"chk512_device<{_name}2>",
        f"IFFT512_device<{_name}2, {_name}>",
        f"norm512_device<{_name}2>",
        computes=f"Fourier transforms of 512 {_name} points in registers and shared memory",
        std="c++14",
        includes=_HEADERS,
        empty_headers=("config.h",),
        defines=_CONFIGURED,
    )(_fft(_type, _name))


@real_program(
    "shoc",
    "src/cuda/level1/md5hash/MD5Hash.cu",
    "FindKeyWithDigest_Kernel",
    computes="search for the key of an MD5 digest",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def md5hash(device: Device) -> Sequence[Check]:
    length, values, wanted = 7, 4, 9_876
    key = bytes(wanted // values**place % values for place in range(length))
    digest = struct.unpack("<4I", hashlib.md5(key, usedforsecurity=False).digest())
    space = values**length
    index = device.array("index", np.full(1, -1, np.int32))
    found, words = device.zeros("key", 8, np.uint8), device.zeros("digest", 4, np.uint32)
    device.launch(
        "FindKeyWithDigest_Kernel", -(-space // values // 384), 384,
        *(np.uint32(word) for word in digest), space, length, values, index, found, words,
    )  # fmt: skip
    return [
        exact("index", index.view(), [wanted]),
        exact("key", found.view(), [*key, 0]),
        exact("digest", words.view(), digest),
    ]


@real_program(
    "shoc",
    "src/cuda/level1/triad/Triad.cu",
    "triad",
    computes="A + s B",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def triad(device: Device) -> Sequence[Check]:
    a, b = np.random.default_rng(24).uniform(0, 10, (2, 128 * 60)).astype(np.float32)
    result = device.zeros("C", a.size)
    device.launch("triad", 60, 128, device.array("A", a), device.array("B", b), result, 1.75)
    expected = a.astype(np.float64) + 1.75 * b
    return [rounded("C", result.view(), expected, 2)]
