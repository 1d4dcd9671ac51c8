"""The CUDA samples' parallel patterns: sums, scans, histograms, sorting networks, transposes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.fft import dctn, idctn
from scipy.ndimage import correlate1d

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import real_program

_CONCEPTS = "Samples/2_Concepts_and_Techniques"
_PERFORMANCE = "Samples/6_Performance"
_COMMON = ("cuda-samples/Common",)


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/convolutionSeparable/convolutionSeparable.cu",
    "convolutionRowsKernel",
    "convolutionColumnsKernel",
    computes="separable convolution, halos in shared memory, taps in constant memory",
    includes=_COMMON,
)
def convolution_separable(device: Device) -> Sequence[Check]:
    width, height, radius = 256, 128, 8
    rng = np.random.default_rng(50)
    taps = rng.integers(0, 16, 2 * radius + 1).astype(np.float32)
    image = rng.integers(0, 16, (height, width)).astype(np.float32)
    device.constant("c_Kernel", taps)
    given = device.array("image", image)
    rows, result = device.empty("rows", image.shape), device.empty("result", image.shape)
    sizes = (width, height, width)
    device.launch(
        "convolutionRowsKernel", (width // 128, height // 4), (16, 4), rows, given, *sizes
    )
    device.launch(
        "convolutionColumnsKernel", (width // 16, height // 64), (16, 8), result, rows, *sizes
    )
    expected_rows = correlate1d(image.astype(np.float64), taps[::-1], axis=1, mode="constant")
    expected = correlate1d(expected_rows, taps[::-1], axis=0, mode="constant")
    return [
        exact("rows of whole numbers", rows.view(), expected_rows),
        exact("columns of whole numbers", result.view(), expected),
    ]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/histogram/histogram256.cu",
    "histogram256Kernel",
    "mergeHistogram256Kernel",
    computes="histogram of bytes, a copy per warp, shared atomics",
    includes=_COMMON,
)
def histogram256(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(51).binomial(255, 0.4, 120_000).astype(np.uint8)
    parts = device.empty("partial", (24, 256), np.uint32)
    result = device.empty("histogram", 256, np.uint32)
    device.launch(
        "histogram256Kernel", 24, 192,
        parts, device.array("data", data.view(np.uint32)), np.uint32(data.size // 4),
    )  # fmt: skip
    device.launch("mergeHistogram256Kernel", 256, 256, result, parts, np.uint32(24))
    return [exact("histogram", result.view(), np.bincount(data, minlength=256))]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/histogram/histogram64.cu",
    "histogram64Kernel",
    "mergeHistogram64Kernel",
    computes="histogram of 64 bins, a column of bytes per thread",
    includes=_COMMON,
)
def histogram64(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(52).integers(0, 256, 64 * 16 * 40, np.uint8)
    parts = device.empty("partial", (16, 64), np.uint32)
    result = device.empty("histogram", 64, np.uint32)
    device.launch(
        "histogram64Kernel", 16, 64,
        parts, device.array("data", data.view(np.uint32)), np.uint32(data.size // 16),
    )  # fmt: skip
    device.launch("mergeHistogram64Kernel", 64, 256, result, parts, np.uint32(16))
    return [exact("histogram", result.view(), np.bincount(data >> 2, minlength=64))]


_REDUCTIONS = {
    "reduce0<int>": 1,
    "reduce1<int>": 1,
    "reduce2<int>": 1,
    "reduce3<int>": 2,
    "reduce4<int, 128>": 2,
    "reduce5<int, 128>": 2,
    "reduce6<int, 128, false>": 3,
    "reduce7<int, 128, false>": 3,
    "cg_reduce<int>": 3,
}
"""Kernels, and how many elements each thread adds up at least."""


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/reduction/reduction_kernel.cu",
    *_REDUCTIONS,
    computes="nine ways to sum up: divergence, bank conflicts, unrolling, shuffles, groups",
    includes=_COMMON,
)
def reduction(device: Device) -> Sequence[Check]:
    blocks, threads = 12, 128
    data = np.random.default_rng(53).integers(-1000, 1000, blocks * threads * 3 + 77, np.int32)
    given = device.array("data", data)
    checks = []
    for kernel, each in _REDUCTIONS.items():
        name = kernel.partition("<")[0]
        sums = device.empty(name, blocks, np.int32)
        count = min(data.size, blocks * threads * each) if each < 3 else data.size
        device.launch(kernel, blocks, threads, given, sums, np.uint32(count), shared=threads * 4)
        checks.append(exact(name, sums.view().sum(), data[:count].sum()))
    return checks


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/threadFenceReduction/threadFenceReduction.cu",
    "reduceMultiPass<128, false>",
    "reduceSinglePass<128, false>",
    computes="sum in one launch: the last block, found by an atomic ticket, finishes",
    includes=_COMMON,
)
def thread_fence_reduction(device: Device) -> Sequence[Check]:
    blocks, threads = 20, 128
    data = np.random.default_rng(54).integers(0, 10, 20_000).astype(np.float32)
    given = device.array("data", data)
    parts, total = device.zeros("parts", blocks), device.zeros("total", blocks)
    for kernel, result in (("reduceMultiPass", parts), ("reduceSinglePass", total)):
        device.launch(
            f"{kernel}<128, false>", blocks, threads, given, result, np.uint32(data.size),
            shared=threads * 4,
        )  # fmt: skip
    whole = data.sum(dtype=np.float64)
    return [
        exact("two passes", parts.view().sum(dtype=np.float64), whole),
        exact("one pass", np.float64(total.view()[0]), whole),
    ]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/scalarProd/scalarProd.cu",
    "scalarProdGPU",
    computes="dot products of many vectors",
    includes=_COMMON,
)
def scalar_prod(device: Device) -> Sequence[Check]:
    vectors, count = 12, 3000
    a, b = np.random.default_rng(55).uniform(0, 1, (2, vectors, count)).astype(np.float32)
    result = device.empty("C", vectors)
    device.launch(
        "scalarProdGPU", 8, 256, result, device.array("A", a), device.array("B", b), vectors, count
    )
    return [rounded("C", result.view(), (a.astype(np.float64) * b).sum(1), 3 + 10 + 1)]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/scan/scan.cu",
    "scanExclusiveShared",
    "scanExclusiveShared2",
    "uniformUpdate",
    computes="exclusive scan of large arrays, four elements per thread",
    includes=_COMMON,
)
def scan_samples(device: Device) -> Sequence[Check]:
    count = 16 * 1024
    data = np.random.default_rng(56).integers(0, 1 << 20, count, np.uint32)
    given, result = device.array("data", data), device.empty("result", count, np.uint32)
    sums = device.empty("sums", count // 1024, np.uint32)
    blocks = count // 1024
    device.launch("scanExclusiveShared", blocks, 256, result, given, np.uint32(1024))
    device.launch(
        "scanExclusiveShared2", 1, 256, sums, result, given, np.uint32(blocks), np.uint32(blocks)
    )
    device.launch("uniformUpdate", blocks, 256, result, sums)
    return [exact("scan", result.view(), np.cumsum(data, dtype=np.uint32) - data)]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/shfl_scan/shfl_scan.cu",
    "shfl_scan_test",
    "uniform_add",
    computes="scan by shuffles, sums of blocks added afterwards",
    includes=_COMMON,
)
def shuffle_scan(device: Device) -> Sequence[Check]:
    blocks, threads = 64, 256
    data = np.random.default_rng(57).integers(0, 100, blocks * threads, np.int32)
    values, sums = device.array("data", data), device.empty("sums", blocks, np.int32)
    device.launch("shfl_scan_test", blocks, threads, values, 32, sums, shared=128)
    device.launch("shfl_scan_test", 1, blocks, sums, 32, None, shared=128)
    device.launch("uniform_add", blocks - 1, threads, values.at(threads), sums, data.size)
    return [exact("scan", values.view(), np.cumsum(data))]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/shfl_scan/shfl_scan.cu",
    "shfl_intimage_rows",
    "shfl_vertical_shfl",
    computes="summed-area table: rows in registers, columns by shuffles",
    includes=_COMMON,
)
def integral_image(device: Device) -> Sequence[Check]:
    width, height = 1920, 1080
    image = np.random.default_rng(58).integers(0, 256, (height, width), np.uint8)
    table = device.zeros("table", (height, width), np.uint32)
    device.launch("shfl_intimage_rows", height, width // 16, device.array("image", image), table)
    device.launch("shfl_vertical_shfl", width // 32, (32, 8), table, width, height)
    expected = image.astype(np.uint32).cumsum(1, dtype=np.uint32).cumsum(0, dtype=np.uint32)
    return [exact("summed-area table", table.view(), expected)]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/sortingNetworks/bitonicSort.cu",
    "bitonicSortShared1",
    "bitonicMergeGlobal",
    "bitonicMergeShared",
    computes="bitonic sort of keys with values, strides beyond a block in global memory",
    includes=_COMMON,
)
def bitonic_sort(device: Device) -> Sequence[Check]:
    count, shared = 4096, 1024
    data = np.random.default_rng(59).permutation(count).astype(np.uint32)
    order = np.argsort(data)
    given = device.array("in", data), device.array("numbers", np.arange(count, dtype=np.uint32))
    result = device.empty("keys", count, np.uint32), device.empty("values", count, np.uint32)
    blocks, threads, ascending = count // shared, shared // 2, np.uint32(1)
    device.launch("bitonicSortShared1", blocks, threads, *result, *given)
    size = 2 * shared
    while size <= count:
        stride = size // 2
        while stride > 0:
            sizes = np.uint32(count), np.uint32(size)
            if stride >= shared:
                device.launch(
                    "bitonicMergeGlobal", count // 512, 256,
                    *result, *result, *sizes, np.uint32(stride), ascending,
                )  # fmt: skip
            else:
                device.launch(
                    "bitonicMergeShared", blocks, threads, *result, *result, *sizes, ascending
                )
                break
            stride //= 2
        size *= 2
    return [exact("keys", result[0].view(), data[order]), exact("values", result[1].view(), order)]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/sortingNetworks/oddEvenMergeSort.cu",
    "oddEvenMergeSortShared",
    "oddEvenMergeGlobal",
    computes="odd-even merge sort of keys with values",
    includes=_COMMON,
)
def odd_even_sort(device: Device) -> Sequence[Check]:
    count, shared = 4096, 1024
    data = np.random.default_rng(60).permutation(count).astype(np.uint32)
    order = np.argsort(data)
    given = device.array("in", data), device.array("numbers", np.arange(count, dtype=np.uint32))
    result = device.empty("keys", count, np.uint32), device.empty("values", count, np.uint32)
    ascending = np.uint32(1)
    device.launch(
        "oddEvenMergeSortShared", count // shared, shared // 2,
        *result, *given, np.uint32(shared), ascending,
    )  # fmt: skip
    size = 2 * shared
    while size <= count:
        stride = size // 2
        while stride > 0:
            device.launch(
                "oddEvenMergeGlobal", count // 512, 256,
                *result, *result, np.uint32(count), np.uint32(size), np.uint32(stride), ascending,
            )  # fmt: skip
            stride //= 2
        size *= 2
    return [exact("keys", result[0].view(), data[order]), exact("values", result[1].view(), order)]


_TRANSPOSES = (
    "copy", "copySharedMem", "transposeNaive", "transposeCoalesced", "transposeNoBankConflicts",
    "transposeDiagonal", "transposeFineGrained", "transposeCoarseGrained",
)  # fmt: skip


@real_program(
    "cuda-samples",
    f"{_PERFORMANCE}/transpose/transpose.cu",
    *_TRANSPOSES,
    computes="eight ways to copy and transpose a matrix",
    includes=_COMMON,
)
def transpose(device: Device) -> Sequence[Check]:
    size, tile = 128, 32
    data = np.arange(size * size, dtype=np.float32).reshape(size, size)
    given = device.array("in", data)
    tiles = data.reshape(size // tile, tile, size // tile, tile)
    expected = {
        "copy": data,
        "copySharedMem": data,
        # Two of them move only within, or only between, the tiles.
        "transposeFineGrained": tiles.transpose(0, 3, 2, 1).reshape(size, size),
        "transposeCoarseGrained": tiles.transpose(2, 1, 0, 3).reshape(size, size),
    }
    checks = []
    for kernel in _TRANSPOSES:
        result = device.empty(kernel, data.shape)
        device.launch(kernel, (size // tile, size // tile), (tile, 16), result, given, size, size)
        checks.append(exact(kernel, result.view(), expected.get(kernel, data.T)))
    return checks


_ALIGNED = {"unsigned char": 1, "RGBA32_misaligned": 16, "RGBA32": 16, "RGBA32_2": 32}
"""Types that are copied, and their sizes."""


@real_program(
    "cuda-samples",
    f"{_PERFORMANCE}/alignedTypes/alignedTypes.cu",
    *(f"testKernel<{name}>" for name in _ALIGNED),
    computes="copies of structures with and without alignment",
    includes=_COMMON,
)
def aligned_types(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(61).integers(0, 256, 64 * 1000, np.uint8)
    given = device.array("in", data)
    checks = []
    for name, size in _ALIGNED.items():
        result = device.zeros(name, data.size, np.uint8)
        device.launch(f"testKernel<{name}>", 64, 256, result, given, data.size // size)
        checks.append(exact(name, result.view(), data))
    return checks


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/dct8x8/dct8x8.cu",
    "CUDAkernel2DCT",
    "CUDAkernelQuantizationFloat",
    "CUDAkernel2IDCT",
    computes="cosine transform of 8x8 blocks, quantization, and back",
    includes=_COMMON,
)
def dct8x8(device: Device) -> Sequence[Check]:
    width, height = 96, 64
    image = np.random.default_rng(62).integers(-128, 128, (height, width)).astype(np.float32)
    spectrum, back = device.empty("spectrum", image.shape), device.empty("back", image.shape)
    grid, block = (width // 32, height // 16), (8, 4, 2)
    device.launch("CUDAkernel2DCT", grid, block, spectrum, device.array("image", image), width)
    tiles = image.astype(np.float64).reshape(height // 8, 8, width // 8, 8)
    expected = dctn(tiles, axes=(1, 3), norm="ortho").reshape(image.shape)
    transformed = spectrum.view().copy()
    device.launch("CUDAkernelQuantizationFloat", (width // 8, height // 8), (8, 8), spectrum, width)
    steps = np.tile(_QUANTA, (height // 8, width // 8))
    quantized = spectrum.view().copy()
    # Halves go away from zero, as C's round has it.
    whole = np.copysign(np.floor(abs(transformed / steps) + np.float32(0.5)), transformed) * steps
    device.launch("CUDAkernel2IDCT", grid, block, back, spectrum, width)
    coarse = quantized.astype(np.float64).reshape(tiles.shape)
    restored = idctn(coarse, axes=(1, 3), norm="ortho").reshape(image.shape)
    return [
        rounded("spectrum", transformed, expected, 20, scale=1024.0),
        exact("quantized", quantized, whole),
        rounded("back", back.view(), restored, 20, scale=1024.0),
    ]


_QUANTA = np.array(
    [32, 33, 51, 81, 66, 39, 34, 17, 33, 36, 48, 47, 28, 23, 12, 12, 51, 48, 47, 28, 23, 12, 12, 12,
     81, 47, 28, 23, 12, 12, 12, 12, 66, 28, 23, 12, 12, 12, 12, 12, 39, 23, 12, 12, 12, 12, 12, 12,
     34, 12, 12, 12, 12, 12, 12, 12, 17, 12, 12, 12, 12, 12, 12, 12],
    np.float32,
).reshape(8, 8)  # fmt: skip
"""The quantization steps that the kernel divides by."""
