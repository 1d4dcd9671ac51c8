"""The CUDA samples' kernels of newer features: groups, tensor cores, asynchronous copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import spsolve

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, near, rounded
from benchmarks.real_kernels.registry import real_program

_FEATURES = "Samples/3_CUDA_Features"
_COMMON = ("cuda-samples/Common",)


@real_program(
    "cuda-samples",
    f"{_FEATURES}/warpAggregatedAtomicsCG/warpAggregatedAtomicsCG.cu",
    "filter_arr",
    "mapToBuckets",
    "calculateMaxInEachBuckets",
    computes="atomics of whole groups of lanes: filter, buckets, maxima",
    includes=_COMMON,
)
def warp_aggregated_atomics(device: Device) -> Sequence[Check]:
    count, buckets = 20_000, 5
    rng = np.random.default_rng(80)
    data = rng.integers(-10, 20, count, np.int32)
    bucket = rng.integers(0, buckets, count, np.int32)
    values = rng.integers(0, 1 << 20, count, np.int32)
    kept, length = device.zeros("kept", count, np.int32), device.zeros("length", 1, np.int32)
    device.launch("filter_arr", 20, 512, kept, length, device.array("data", data), count)
    given = device.array("bucket", bucket)
    starts = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=buckets))])
    places, ends = (
        device.zeros("places", count, np.int32),
        device.array("ends", starts[:-1].astype("i4")),
    )
    device.launch("mapToBuckets", 10, 512, given, places, ends, count, buckets)
    most = device.zeros("most", buckets, np.int32)
    device.launch(
        "calculateMaxInEachBuckets", 10, 512,
        given, device.array("values", values), most, count, buckets,
    )  # fmt: skip
    expected = np.sort(data[data > 0])
    found = places.view()
    sorted_places = np.concatenate([np.sort(p) for p in np.split(found, starts[1:-1])])
    return [
        exact("number kept", length.view(), [expected.size]),
        exact("kept, in any order", np.sort(kept.view()[: expected.size]), expected),
        exact("members of buckets", sorted_places, np.argsort(bucket, kind="stable")),
        exact("maxima", most.view(), [values[bucket == b].max() for b in range(buckets)]),
    ]


@real_program(
    "cuda-samples",
    f"{_FEATURES}/binaryPartitionCG/binaryPartitionCG.cu",
    "oddEvenCountAndSumCG",
    computes="sums of odd and even numbers by groups that a predicate splits",
    includes=_COMMON,
)
def binary_partition(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(81).integers(0, 50, 1024 * 20, np.int32)
    odds, sums = device.zeros("odds", 1, np.int32), device.zeros("sums", 2, np.int32)
    device.launch(
        "oddEvenCountAndSumCG", 8, 256,
        device.array("data", data), odds, sums, np.uint32(data.size),
    )  # fmt: skip
    odd = data % 2 == 1
    return [
        exact("odd numbers", odds.view(), [odd.sum()]),
        exact("sums", sums.view(), [data[odd].sum(), data[~odd].sum()]),
    ]


@real_program(
    "cuda-samples",
    f"{_FEATURES}/jacobiCudaGraphs/jacobi.cu",
    "JacobiMethod",
    "finalError",
    computes="Jacobi's method in double precision, shuffles and atomics",
    includes=_COMMON,
)
def jacobi(device: Device) -> Sequence[Check]:
    size, steps = 512, 6
    rng = np.random.default_rng(82)
    matrix = rng.uniform(0, 1, (size, size)).astype(np.float32)
    matrix[np.diag_indices(size)] += size
    right = matrix.astype(np.float64).sum(1)
    x = [device.zeros(f"x{n}", size, np.float64) for n in range(2)]
    given = device.array("A", matrix), device.array("b", right)
    total = device.zeros("sum", 1, np.float64)
    for _ in range(steps):
        total.fill(0.0)
        device.launch("JacobiMethod", size // 8, 256, *given, 1e-2, *x, total)
        x.reverse()
    change = float(total.view()[0])
    total.fill(0.0)
    device.launch("finalError", 4, 256, x[0], total, shared=64)
    wide = matrix.astype(np.float64)
    expected, before = np.zeros(size), np.zeros(size)
    for _ in range(steps):
        before = expected
        expected = before + (right - wide @ before) / np.diag(wide)
    scale = 3.0 * np.ones(1)
    return [
        rounded("x", x[0].view(), expected, (size + 10) * steps, scale=3.0),
        rounded(
            "change", np.array([change]), [abs(expected - before).sum()], size * 20, scale=scale
        ),
        rounded("error", total.view(), [abs(expected - 1).sum()], size * 20, scale=scale * size),
    ]


@real_program(
    "cuda-samples",
    f"{_FEATURES}/simpleCudaGraphs/simpleCudaGraphs.cu",
    "reduce",
    "reduceFinal",
    computes="sum of floats in double precision in two launches",
    includes=_COMMON,
)
def simple_cuda_graphs(device: Device) -> Sequence[Check]:
    blocks, count = 16, 50_000
    data = np.random.default_rng(83).uniform(0, 1, count).astype(np.float32)
    parts, total = device.empty("parts", blocks, np.float64), device.empty("total", 1, np.float64)
    device.launch(
        "reduce", blocks, 512,
        device.array("data", data), parts, np.uint64(count), np.uint64(blocks),
    )  # fmt: skip
    device.launch("reduceFinal", 1, 512, parts, total, np.uint64(blocks))
    return [rounded("sum", total.view(), [data.sum(dtype=np.float64)], 60)]


@real_program(
    "cuda-samples",
    f"{_FEATURES}/cdpAdvancedQuicksort/cdpBitonicSort.cu",
    "bitonicsort",
    "big_bitonicsort",
    computes="bitonic sort of one block in shared and in global memory",
    includes=_COMMON,
)
def cdp_bitonic_sort(device: Device) -> Sequence[Check]:
    data = np.random.default_rng(84).integers(0, 1 << 32, 1500, np.uint32)
    small, large = device.zeros("small", 500, np.uint32), device.zeros("large", 1500, np.uint32)
    given = device.array("in", data)
    offset = np.uint32(0)
    device.launch("bitonicsort", 1, 512, given, small, offset, np.uint32(500))
    device.launch(
        "big_bitonicsort", 1, 256,
        given, large, device.zeros("spare", 1024, np.uint32), offset, np.uint32(1500),
    )  # fmt: skip
    return [
        exact("small", small.view(), np.sort(data[:500])),
        exact("large", large.view(), np.sort(data)),
    ]


_COPIES = (
    "MatrixMulNaive", "MatrixMulNaiveLargeChunk", "MatrixMulAsyncCopySingleStage",
    "MatrixMulAsyncCopyLargeChunk", "MatrixMulAsyncCopyMultiStage",
    "MatrixMulAsyncCopyMultiStageLargeChunk",
)  # fmt: skip


@real_program(
    "cuda-samples",
    f"{_FEATURES}/globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu",
    *(f"{name}<16>" for name in _COPIES),
    computes="products of matrices, tiles brought by asynchronous copies in several stages",
    includes=_COMMON,
)
def async_copy(device: Device) -> Sequence[Check]:
    a = np.random.default_rng(85).uniform(-1, 1, (64, 64)).astype(np.float32)
    # The suite's own input, and more than a convenience: the variants with large chunks read the
    # tile of B at A's place, which gives the product only where all of B is alike.
    b = np.full((64, 64), 0.01, np.float32)
    given = device.array("A", a), device.array("B", b)
    wide = a.astype(np.float64), b.astype(np.float64)
    size = abs(wide[0]) @ abs(wide[1])
    checks = []
    for name in _COPIES:
        result = device.empty(name, a.shape)
        device.launch(f"{name}<16>", (4, 4), (16, 16), result, *given, 64, 64)
        checks.append(rounded(name, result.view(), wide[0] @ wide[1], 64, scale=size))
    return checks


@real_program(
    "cuda-samples",
    f"{_FEATURES}/cudaTensorCoreGemm/cudaTensorCoreGemm.cu",
    "simple_wmma_gemm",
    computes="product of half-precision matrices on tensor cores",
    includes=_COMMON,
)
def tensor_core_half(device: Device) -> Sequence[Check]:
    return _wmma(device, "simple_wmma_gemm", np.float16)


@real_program(
    "cuda-samples",
    f"{_FEATURES}/immaTensorCoreGemm/immaTensorCoreGemm.cu",
    "simple_wmma_gemm_imma",
    computes="product of matrices of bytes on tensor cores",
    includes=_COMMON,
)
def tensor_core_bytes(device: Device) -> Sequence[Check]:
    return _wmma(device, "simple_wmma_gemm_imma", np.uint8)


@real_program(
    "cuda-samples",
    f"{_FEATURES}/bf16TensorCoreGemm/bf16TensorCoreGemm.cu",
    "simple_wmma_bf16gemm",
    computes="product of bfloat16 matrices on tensor cores",
    includes=_COMMON,
)
def tensor_core_bf16(device: Device) -> Sequence[Check]:
    return _wmma(device, "simple_wmma_bf16gemm", np.uint16)


@real_program(
    "cuda-samples",
    f"{_FEATURES}/tf32TensorCoreGemm/tf32TensorCoreGemm.cu",
    "simple_wmma_tf32gemm",
    computes="product of float matrices on tensor cores, rounded to TF32",
    includes=_COMMON,
)
def tensor_core_tf32(device: Device) -> Sequence[Check]:
    return _wmma(device, "simple_wmma_tf32gemm", np.float32)


@real_program(
    "cuda-samples",
    f"{_FEATURES}/dmmaTensorCoreGemm/dmmaTensorCoreGemm.cu",
    "simple_wmma_gemm",
    computes="product of double-precision matrices on tensor cores",
    includes=_COMMON,
)
def tensor_core_double(device: Device) -> Sequence[Check]:
    return _wmma(device, "simple_wmma_gemm", np.float64)


def _wmma(device: Device, kernel: str, dtype: type[np.generic]) -> Sequence[Check]:
    """D = alpha A B + beta C of small whole numbers, which every format here holds exactly."""
    size = 64
    rng = np.random.default_rng(86)
    a, b = rng.integers(0, 4, (2, size, size))
    results: dict[Any, Any] = {np.uint8: np.int32, np.float64: np.float64}
    result_type = results.get(dtype, np.float32)
    c = rng.integers(0, 100, (size, size)).astype(result_type)
    factor_type = (
        np.float64 if dtype is np.float64 else np.int32 if dtype is np.uint8 else np.float32
    )
    result = device.zeros("D", (size, size), result_type)
    # B is stored column by column. Blocks of 4 x 4 warps, a tile of 8 or 16 per warp.
    tile = 8 if dtype is np.float64 else 16
    device.launch(
        kernel, (-(-size // (4 * tile)), -(-size // (4 * tile))), (128, 4),
        device.array("A", _stored(a, dtype)), device.array("B", _stored(b.T, dtype)),
        device.array("C", c), result, size, size, size, factor_type(2), factor_type(3),
    )  # fmt: skip
    product = a @ b
    if dtype is np.uint16:
        # This kernel swaps the coordinates of B's tiles: it multiplies by each of them transposed.
        tiles = b.T.reshape(size // 16, 16, size // 16, 16)
        product = a @ tiles.transpose(0, 3, 2, 1).reshape(size, size)
    return [exact("D", result.view(), 2 * product + 3 * c.astype(np.int64))]


def _stored(matrix: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    if dtype is np.uint16:
        # bfloat16 is the upper half of a float.
        return (matrix.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(matrix.astype(dtype))


@real_program(
    "cuda-samples",
    "Samples/2_Concepts_and_Techniques/reductionMultiBlockCG/reductionMultiBlockCG.cu",
    "reduceSinglePassMultiBlockCG",
    computes="sum in one cooperative launch, the whole grid synchronised",
    includes=_COMMON,
)
def reduction_grid(device: Device) -> Sequence[Check]:
    blocks, threads = 8, 128
    data = np.random.default_rng(87).integers(0, 100, 20_000).astype(np.float32)
    sums = device.zeros("sums", blocks)
    device.launch(
        "reduceSinglePassMultiBlockCG", blocks, threads,
        device.array("data", data), sums, np.uint32(data.size), shared=threads * 8,
    )  # fmt: skip
    return [exact("sum", sums.view()[0], data.sum(dtype=np.float64))]


@real_program(
    "cuda-samples",
    "Samples/4_CUDA_Libraries/conjugateGradientMultiBlockCG/conjugateGradientMultiBlockCG.cu",
    "gpuConjugateGradient",
    computes="conjugate gradients in one cooperative launch",
    includes=_COMMON,
)
def conjugate_gradient(device: Device) -> Sequence[Check]:
    size, tolerance = 1024, 1e-5
    rng = np.random.default_rng(88)
    side = rng.uniform(-1, 1, size - 1).astype(np.float32)
    matrix = csr_array(np.diag(side, -1) + np.diag(side, 1) + 6 * np.eye(size, dtype=np.float32))
    right = np.ones(size, np.float32)
    x, r = device.zeros("x", size), device.array("r", right)
    device.launch(
        "gpuConjugateGradient", 4, 256,
        device.array("I", matrix.indptr.astype(np.int32)),
        device.array("J", matrix.indices.astype(np.int32)),
        device.array("values", matrix.data.astype(np.float32)),
        x, device.zeros("Ax", size), device.zeros("p", size), r,
        device.zeros("dot", 1, np.float64), matrix.nnz, size, tolerance, shared=8 * 8,
    )  # fmt: skip
    expected = spsolve(matrix.astype(np.float64), right.astype(np.float64))
    # The residual's norm ends below the tolerance; the smallest eigenvalue is at least 6 - 2.
    allowed = tolerance / 4 + 40 * float(np.finfo(np.float32).eps)
    return [near("x", x.view(), expected, allowed, "residual over smallest eigenvalue")]
