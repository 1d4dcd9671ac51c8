"""The CUDA samples' kernels that show parts of the language: printf, pointers to functions, new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import correlate, sobel

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact
from benchmarks.real_kernels.registry import real_program

_INTRO = "Samples/0_Introduction"
_CONCEPTS = "Samples/2_Concepts_and_Techniques"
_COMMON = ("cuda-samples/Common",)


def _lines(text: str) -> np.ndarray:
    return np.array(sorted(line.strip() for line in text.splitlines() if line.strip()))


@real_program(
    "cuda-samples",
    f"{_INTRO}/simplePrintf/simplePrintf.cu",
    "testKernel",
    computes="a line printed by every thread",
    includes=_COMMON,
)
def simple_printf(device: Device) -> Sequence[Check]:
    device.launch("testKernel", (2, 2), (2, 2, 2), 10)
    expected = [f"[{b}, {t}]:\t\tValue is:10" for b in range(4) for t in range(8)]
    return [exact("lines", _lines(device.printed), np.array(sorted(expected)))]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleCooperativeGroups/simpleCooperativeGroups.cu",
    "cgkernel",
    computes="sums over a block and over its tiles, printed",
    includes=_COMMON,
)
def simple_cooperative_groups(device: Device) -> Sequence[Check]:
    threads = 64
    device.launch("cgkernel", 1, threads, shared=4 * threads)
    numbers = [int(word) for word in device.printed.replace(")", " ").split() if word.isdigit()]
    pairs = [(numbers[0], numbers[1])] + [
        (numbers[n], numbers[n + 1]) for n in range(4, len(numbers), 2)
    ]
    whole, tile = threads * (threads - 1) // 2, 16 * 15 // 2
    return [exact("sums found and expected", pairs, [(whole, whole)] + [(tile, tile)] * 4)]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/inlinePTX/inlinePTX.cu",
    "sequence_gpu",
    computes="lane numbers read by inline PTX",
    includes=_COMMON,
)
def inline_ptx(device: Device) -> Sequence[Check]:
    count = 1000
    result = device.empty("out", count, np.int32)
    device.launch("sequence_gpu", -(-count // 256), 256, result, count)
    return [exact("lanes", result.view(), np.arange(count) % 32)]


@real_program(
    "cuda-samples",
    f"{_CONCEPTS}/FunctionPointers/FunctionPointers_kernels.cu",
    "SobelTex",
    "SobelCopyImage",
    computes="edge and box filters called through a table of device functions",
    includes=_COMMON,
)
def function_pointers(device: Device) -> Sequence[Check]:
    width, height = 96, 40
    image = np.random.default_rng(110).integers(0, 256, (height, width), np.uint8)
    shown = device.texture("image", image)
    table = device.symbol("blockFunction_table", np.uint64)
    for place, name in enumerate(("pComputeSobel", "pComputeBox")):
        table.write(device.symbol(name, np.uint64).download(), place)
    threshold = device.symbol("pComputeThreshold", np.uint64).download()[0]
    pitch, scale = np.uint32(width), 1.0
    results = [
        device.empty(name, image.shape, np.uint8) for name in ("edges", "box", "black", "copy")
    ]
    for result, function, point in zip(results, (0, 1, 0), (0, 0, threshold), strict=False):
        device.launch(
            "SobelTex", height, 64,
            result, pitch, width, height, scale, function, np.uint64(point), shown,
        )  # fmt: skip
    device.launch("SobelCopyImage", height, 64, results[3], pitch, width, height, 0.5, shown)
    wide = image.astype(np.int64)
    edges = np.minimum(sum(abs(sobel(wide, axis, mode="nearest")) for axis in (0, 1)), 255)
    box = correlate(wide, np.ones((3, 3), np.int64), mode="nearest") // 9
    expected = (edges, box, np.where(edges > 150, 255, 0), image // 2)
    return [
        exact(result.name, result.view(), want)
        for result, want in zip(results, expected, strict=True)
    ]


@real_program(
    "cuda-samples",
    "Samples/3_CUDA_Features/newdelete/newdelete.cu",
    "vectorCreate",
    "containerFill",
    "containerConsume",
    "containerDelete",
    "placementNew",
    computes="objects with virtual functions made by new in one launch, used and deleted in others",
    includes=_COMMON,
)
def new_delete(device: Device) -> Sequence[Check]:
    blocks, threads = 4, 64
    container = device.zeros("container", 1, np.uint64)
    result = device.zeros("result", blocks * threads, np.int32)
    device.launch("vectorCreate", 1, 1, container, 128 * 128)
    device.launch("containerFill", blocks, threads, container)
    device.launch("containerConsume", blocks, threads, container, result)
    device.launch("containerDelete", 1, 1, container)
    placed = device.zeros("placed", 1024, np.int32)
    device.launch("placementNew", 1, 1024, placed)
    # A stack: who pops which number is open, but each number comes out once.
    popped, own = result.view(), placed.view()
    return [
        exact("popped", np.sort(popped[popped >= 0]), np.arange(blocks)),
        exact("placed", np.sort(own[own >= 0]), np.arange(512)),
    ]


@real_program(
    "cuda-samples",
    f"{_INTRO}/simpleAWBarrier/simpleAWBarrier.cu",
    "normVecByDotProductAWBarrier",
    computes="normalization by a dot product, barriers of arrive and wait",
    includes=_COMMON,
)
def arrive_wait_barrier(device: Device) -> Sequence[Check]:
    blocks, threads, count = 4, 256, 4096
    data = np.ones(count, np.float32)
    a, b = device.array("a", data), device.array("b", data)
    device.launch(
        "normVecByDotProductAWBarrier", blocks, threads,
        a, b, device.zeros("partial", blocks, np.float64), count, shared=8 * threads // 32,
    )  # fmt: skip
    expected = np.full(count, np.float32(1 / np.sqrt(count)))
    return [exact("a", a.view(), expected)]
