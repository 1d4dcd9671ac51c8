"""The CUDA samples' introductory kernels: vectors, matrices, atomics, votes, clocks, groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import real_program

_INTRO = "Samples/0_Introduction"
_COMMON = ("cuda-samples/Common",)


@real_program(
    "cuda-samples",
    f"{_INTRO}/vectorAdd/vectorAdd.cu",
    "vectorAdd",
    computes="sum of two vectors",
    includes=_COMMON,
)
def vector_add(device: Device) -> Sequence[Check]:
    a, b = np.random.default_rng(40).uniform(0, 1, (2, 50_000)).astype(np.float32)
    c = device.empty("C", a.size)
    device.launch(
        "vectorAdd", -(-a.size // 256), 256, device.array("A", a), device.array("B", b), c, a.size
    )
    return [exact("C", c.view(), a + b)]


@real_program(
    "cuda-samples",
    f"{_INTRO}/matrixMul/matrixMul.cu",
    "MatrixMulCUDA<32>",
    computes="product of matrices, tiles in shared memory",
    includes=_COMMON,
)
def matrix_mul(device: Device) -> Sequence[Check]:
    rng = np.random.default_rng(41)
    a = rng.uniform(-1, 1, (64, 96)).astype(np.float32)
    b = rng.uniform(-1, 1, (96, 128)).astype(np.float32)
    c = device.empty("C", (64, 128))
    device.launch(
        "MatrixMulCUDA<32>",
        (4, 2),
        (32, 32),
        c,
        device.array("A", a),
        device.array("B", b),
        96,
        128,
    )
    wide = a.astype(np.float64), b.astype(np.float64)
    size = abs(wide[0]) @ abs(wide[1])
    return [rounded("C", c.view(), wide[0] @ wide[1], 96, scale=size)]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleTemplates/simpleTemplates.cu",
    "testKernel<float>",
    "testKernel<int>",
    computes="scaling through dynamic shared memory of two types",
    includes=_COMMON,
)
def simple_templates(device: Device) -> Sequence[Check]:
    checks = []
    for kind, dtype in (("float", np.float32), ("int", np.int32)):
        data = np.arange(32, dtype=dtype)
        result = device.empty(f"out_{kind}", 32, dtype)
        device.launch(
            f"testKernel<{kind}>", 1, 32, device.array(f"in_{kind}", data), result, shared=128
        )
        checks.append(exact(kind, result.view(), data * 32))
    return checks


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleAtomicIntrinsics/simpleAtomicIntrinsics.cu",
    "testKernel",
    computes="eleven kinds of atomics on global memory",
    includes=_COMMON,
)
def simple_atomics(device: Device) -> Sequence[Check]:
    start = np.zeros(11, np.int32)
    start[8] = start[10] = 0xFF
    blocks, threads = 4, 256
    count = blocks * threads
    result = device.array("data", start)
    device.launch("testKernel", blocks, threads, result)
    found = result.view()
    numbers = np.arange(count)
    wrapped = 0
    for _ in range(count):
        wrapped = 137 if wrapped == 0 or wrapped > 137 else wrapped - 1
    # Exchange and compare-and-swap depend on the order of threads: any of their numbers will do.
    return [
        exact("add, subtract", found[:2], [10 * count, -10 * count]),
        exact("exchange", np.isin(found[2], numbers), True),
        exact("maximum, minimum", found[3:5], [count - 1, 0]),
        exact("increment, decrement", found[5:7], [count % 18, wrapped]),
        exact("compare and swap", np.isin(found[7], numbers), True),
        exact("and", found[8], np.bitwise_and.reduce(2 * numbers + 7) & 0xFF),
        exact("or", found[9], np.int32(-1)),
        exact("exclusive or", found[10], np.bitwise_xor.reduce(numbers) ^ 0xFF),
    ]


@real_program(
    "cuda-samples",
    f"{_INTRO}/systemWideAtomics/systemWideAtomics.cu",
    "atomicKernel",
    computes="atomics of system scope in a loop",
    includes=_COMMON,
)
def system_wide_atomics(device: Device) -> Sequence[Check]:
    rounds, blocks, threads = 50, 2, 64
    count = blocks * threads
    start = np.zeros(10, np.int32)
    start[7] = start[9] = 0xFF
    result = device.array("data", start)
    device.launch("atomicKernel", blocks, threads, result)
    found, numbers = result.view(), np.arange(count)
    return [
        exact("add", found[0], 10 * count * rounds),
        exact("maximum, minimum", found[2:4], [count - 1, 0]),
        exact("increment", found[4], count * rounds % 18),
        exact("and", found[7], np.bitwise_and.reduce(2 * numbers + 7) & 0xFF),
        exact("or", found[8], np.int32(-1)),
        exact("exclusive or, an even number of times", found[9], 0xFF),
    ]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleVoteIntrinsics/simpleVoteIntrinsics.cu",
    "VoteAnyKernel1",
    "VoteAllKernel2",
    "VoteAnyKernel3",
    computes="votes of the lanes of a warp",
    includes=_COMMON,
)
def simple_vote(device: Device) -> Sequence[Check]:
    votes = np.zeros((4, 32), np.uint32)
    votes[1, 5], votes[2, :31], votes[3] = 1, 7, 2
    given = device.array("votes", votes)
    some, every = device.empty("any", 128, np.uint32), device.empty("all", 128, np.uint32)
    device.launch("VoteAnyKernel1", 1, 128, given, some, 128)
    device.launch("VoteAllKernel2", 1, 128, given, every, 128)
    info = device.zeros("info", (96, 3), np.bool_)
    device.launch("VoteAnyKernel3", 1, 96, info, 32)
    late = np.arange(96) >= 48
    warps = late.reshape(3, 32)
    expected = np.stack([warps.any(1).repeat(32), late, warps.all(1).repeat(32)], axis=1)
    return [
        exact("any", some.view(), votes.any(1).repeat(32).astype(np.uint32)),
        exact("all", every.view(), votes.all(1).repeat(32).astype(np.uint32)),
        exact("three warps", info.view(), expected),
    ]


@real_program(
    "cuda-samples",
    f"{_INTRO}/fp16ScalarProduct/fp16ScalarProduct.cu",
    "scalarProductKernel_native",
    "scalarProductKernel_intrinsics",
    computes="dot product in half precision, two lanes at a time",
    includes=_COMMON,
)
def fp16_scalar_product(device: Device) -> Sequence[Check]:
    blocks, threads, count = 16, 128, 8192
    # Small whole numbers, as the sample takes them: every half-precision sum is exact.
    a, b = np.random.default_rng(42).integers(0, 4, (2, count, 2)).astype(np.float16)
    parts = [device.zeros(name, blocks) for name in ("native", "intrinsics")]
    vectors = device.array("a", a), device.array("b", b)
    for kind, part in zip(("native", "intrinsics"), parts, strict=True):
        device.launch(
            f"scalarProductKernel_{kind}", blocks, threads, *vectors, part, np.uint64(count)
        )
    # The kernel's own indexing: threads start one block late and overlap their neighbours.
    products = (a.astype(np.float64) * b).sum(1)
    first = np.arange(threads)[None, :] + threads + np.arange(blocks)[:, None]
    steps = np.arange(0, count, blocks * threads)
    index = first[..., None] + steps
    sums = np.where(index < count, products[np.minimum(index, count - 1)], 0).sum((1, 2))
    return [exact(part.name, part.view(), sums) for part in parts]


@real_program(
    "cuda-samples",
    f"{_INTRO}/clock/clock.cu",
    "timedReduction",
    computes="minimum of a block between two readings of the clock",
    includes=_COMMON,
    unsteady=("timer",),
)
def clock(device: Device) -> Sequence[Check]:
    blocks, threads = 8, 256
    data = np.random.default_rng(43).permutation(2 * threads).astype(np.float32) + 3
    result = device.empty("out", blocks)
    times = device.empty("timer", 2 * blocks, np.int64)
    device.launch(
        "timedReduction", blocks, threads, device.array("in", data), result, times,
        shared=8 * threads,
    )  # fmt: skip
    # What the clock says depends on the machine: only that it moves on can be checked.
    return [
        exact("minimum", result.view(), np.full(blocks, 3, np.float32)),
        exact("time passes", times.view()[blocks:] > times.view()[:blocks], np.ones(blocks, bool)),
    ]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleMultiGPU/simpleMultiGPU.cu",
    "reduceKernel",
    computes="strided sums, one per thread",
    includes=_COMMON,
)
def simple_multi_gpu(device: Device) -> Sequence[Check]:
    blocks, threads, count = 8, 256, 50_000
    data = np.random.default_rng(44).integers(0, 100, count).astype(np.float32)
    sums = device.empty("sums", blocks * threads)
    device.launch("reduceKernel", blocks, threads, sums, device.array("data", data), count)
    padded = np.pad(data, (0, -count % (blocks * threads))).reshape(-1, blocks * threads)
    return [exact("sums of whole numbers", sums.view(), padded.sum(0))]


@real_program(
    "cuda-samples",
    f"{_INTRO}/mergeSort/mergeSort.cu",
    "mergeSortSharedKernel<1U>",
    "generateSampleRanksKernel<1U>",
    "mergeRanksAndIndicesKernel",
    "mergeElementaryIntervalsKernel<1U>",
    computes="merge sort of keys with values: ranks of samples, then merges in shared memory",
    includes=_COMMON,
)
def merge_sort(device: Device) -> Sequence[Check]:
    shared, stride_of_samples, count = 1024, 128, 4096
    keys = np.random.default_rng(45).integers(0, 1 << 16, count, np.uint32)
    values = np.arange(count, dtype=np.uint32)
    pairs = [
        (device.empty(f"keys{n}", count, np.uint32), device.empty(f"values{n}", count, np.uint32))
        for n in range(2)
    ]
    device.launch(
        "mergeSortSharedKernel<1U>", count // shared, shared // 2,
        *pairs[0], device.array("keys", keys), device.array("values", values), np.uint32(shared),
    )  # fmt: skip
    samples = count // stride_of_samples
    ranks_a, ranks_b, limits_a, limits_b = (
        device.zeros(name, samples, np.uint32)
        for name in ("ranksA", "ranksB", "limitsA", "limitsB")
    )
    stride = shared
    while stride < count:
        sizes = np.uint32(stride), np.uint32(count)
        threads = count // (2 * stride_of_samples)
        blocks, number = -(-threads // 256), np.uint32(threads)
        device.launch(
            "generateSampleRanksKernel<1U>", blocks, 256,
            ranks_a, ranks_b, pairs[0][0], *sizes, number,
        )  # fmt: skip
        for limits, ranks in ((limits_a, ranks_a), (limits_b, ranks_b)):
            device.launch("mergeRanksAndIndicesKernel", blocks, 256, limits, ranks, *sizes, number)
        device.launch(
            "mergeElementaryIntervalsKernel<1U>", samples, stride_of_samples,
            *pairs[1], *pairs[0], limits_a, limits_b, *sizes,
        )  # fmt: skip
        pairs.reverse()
        stride *= 2
    order = np.argsort(keys, kind="stable")
    return [
        exact("keys", pairs[0][0].view(), keys[order]),
        exact("values", pairs[0][1].view(), order),
    ]
