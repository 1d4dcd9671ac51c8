"""SHOC's neural network, chemistry, clustering and throughput kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_kernels.device import Device
from benchmarks.real_kernels.outcome import Check, exact, rounded
from benchmarks.real_kernels.registry import real_program

_HEADERS = ("shoc/src/common", "shoc/src/cuda/common")
_CONFIGURED = (("HAVE_GETTIMEOFDAY", "1"),)
"""What the suite's configure script would say in config.h."""
Wide = NDArray[np.float64]


def _sigmoid(z: Wide) -> Wide:
    return np.asarray(1 / (1 + np.exp(-z)))


@real_program(
    "shoc",
    "src/cuda/level1/neuralnet/NeuralNet.cu",
    "kernelFeedForward1",
    "kernelFeedForward2",
    "kernelFeedForward1b",
    "kernelFeedForward3",
    computes="layers of a neural network, one sample and a batch",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def neural_forward(device: Device) -> Sequence[Check]:
    inputs, outputs, batch = 60, 32, 5
    rng = np.random.default_rng(30)
    weights, biases, given = (
        rng.uniform(-1, 1, shape).astype(np.float32)
        for shape in ((outputs, inputs), (outputs,), (batch, inputs))
    )
    w, b = device.array("weights", weights), device.array("biases", biases)
    one = device.array("one", given[0])
    z1, a1 = device.zeros("z1", outputs), device.zeros("a1", outputs)
    device.launch("kernelFeedForward1", 1, outputs, z1, inputs, w, 0, one)
    device.launch("kernelFeedForward2", 1, outputs, z1, b, 0, a1)
    z, a = device.zeros("z", (batch, outputs)), device.zeros("a", (batch, outputs))
    device.launch(
        "kernelFeedForward1b", batch, outputs, z, inputs, w, 0, device.array("all", given)
    )
    device.launch("kernelFeedForward3", batch, outputs, z, b, 0, a)
    wide = given.astype(np.float64)
    expected = wide @ weights.T.astype(np.float64) + biases
    size = abs(wide) @ abs(weights.T.astype(np.float64)) + abs(biases)
    roundings = inputs + 2
    return [
        rounded("z of one", z1.view(), expected[0], roundings, scale=size[0]),
        rounded("a of one", a1.view(), _sigmoid(expected[0]), roundings, scale=size[0] + 1),
        rounded("z of the batch", z.view(), expected, roundings, scale=size),
        rounded("a of the batch", a.view(), _sigmoid(expected), roundings, scale=size + 1),
    ]


@real_program(
    "shoc",
    "src/cuda/level1/neuralnet/NeuralNet.cu",
    "kernelInitNablaB",
    "kernelInitNablaW",
    "kernelBackprop2",
    "kernelBackprop1",
    "kernelBackprop3a",
    "kernelBackprop3b",
    "kernelUpdateNablaB",
    "kernelUpdateNablaW",
    "kernelUpdateBiases",
    "kernelUpdateWeights",
    computes="errors through two layers of a neural network, and the update of its weights",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def neural_backward(device: Device) -> Sequence[Check]:
    hidden, outputs, label, rate, samples = 30, 10, 3.0, 3.0, 10.0
    rng = np.random.default_rng(31)
    activations, z_hidden = rng.uniform(0, 1, hidden), rng.uniform(-2, 2, hidden)
    results, z_out = rng.uniform(0, 1, outputs), rng.uniform(-2, 2, outputs)
    weights = rng.uniform(-1, 1, (outputs, hidden))
    biases = rng.uniform(-1, 1, hidden + outputs)
    h_act, h_z, o_act, o_z, w, b = (
        device.array(name, values.astype(np.float32))
        for name, values in (
            ("hidden", activations), ("z_hidden", z_hidden), ("results", results),
            ("z_out", z_out), ("weights", weights), ("biases", biases),
        )
    )  # fmt: skip
    size = hidden * outputs
    error = device.zeros("delta_nabla_b", hidden + outputs)
    slopes = device.zeros("delta_nabla_w", size)
    sum_b = device.array("nabla_b", np.ones(hidden + outputs, np.float32))
    sum_w = device.array("nabla_w", np.ones(size, np.float32))
    blocks = -(-size // 128)
    device.launch("kernelInitNablaB", 1, hidden + outputs, sum_b)
    device.launch("kernelInitNablaW", blocks, 128, sum_w, size)
    device.launch("kernelBackprop2", 1, outputs, error, hidden, o_act, o_z, label)
    device.launch("kernelBackprop1", outputs, hidden, slopes, 0, h_act, error, hidden)
    device.launch("kernelBackprop3a", 1, hidden, error, 0, outputs, hidden, w, 0)
    device.launch("kernelBackprop3b", 1, hidden, error, 0, h_z)
    device.launch("kernelUpdateNablaB", 1, hidden + outputs, sum_b, error)
    device.launch("kernelUpdateNablaW", blocks, 128, sum_w, slopes, size)
    device.launch("kernelUpdateBiases", 1, hidden + outputs, sum_b, b, rate, samples)
    device.launch("kernelUpdateWeights", blocks, 128, sum_w, w, size, rate, samples)

    def slope(z: Wide) -> Wide:
        return _sigmoid(z) * (1 - _sigmoid(z))

    wanted = np.arange(outputs) == int(label)
    delta_out = (results - wanted) * slope(z_out)
    delta_hidden = (delta_out @ weights) * slope(z_hidden)
    deltas = np.concatenate([delta_hidden, delta_out])
    step = rate / samples
    # Inputs were rounded to float32 once; every sum has at most ``outputs`` terms below 1.
    return [
        rounded("errors", error.view(), deltas, outputs + 10, scale=2.0),
        rounded("nabla_b", sum_b.view(), deltas, outputs + 10, scale=2.0),
        rounded("biases", b.view(), biases - step * deltas, outputs + 12, scale=2.0),
        rounded(
            "weights",
            w.view(),
            weights - step * np.outer(delta_out, activations),
            outputs + 12,
            scale=2.0,
        ),
    ]


@real_program(
    "shoc",
    "src/cuda/level2/s3d/S3D.cu",
    "gr_base<double>",
    computes="concentrations of 22 species of a flame from mass fractions",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def s3d_concentrations(device: Device) -> Sequence[Check]:
    cells, species = 512, 22
    # Inverse molar masses of the mechanism, as the kernel's constants state them.
    inverse = np.array(
        [4.96046521e-1, 9.92093043e-1, 6.25023433e-2, 3.12511716e-2, 5.87980383e-2,
         5.55082499e-2, 3.02968146e-2, 2.93990192e-2, 6.65112065e-2, 6.23323639e-2,
         3.57008335e-2, 2.27221341e-2, 3.33039255e-2, 3.84050525e-2, 3.56453112e-2,
         3.32556033e-2, 2.4372606e-2, 2.37882046e-2, 2.26996304e-2, 2.43467162e-2,
         2.37635408e-2, 3.56972032e-2]
    )  # fmt: skip
    rng = np.random.default_rng(32)
    fractions = rng.dirichlet(np.ones(species), cells).T.copy()
    temperature, pressure = rng.uniform(1, 2.5, cells), rng.uniform(1, 2, cells)
    result = device.zeros("C", (species, cells), np.float64)
    device.launch(
        "gr_base<double>", cells // 64, 64,
        device.array("P", pressure), device.array("T", temperature),
        device.array("Y", fractions), result, np.float64(120.0), np.float64(1.4e6),
    )  # fmt: skip
    moles = fractions * inverse[:, None]
    density = pressure * 1.4e6 / (moles.sum(0) * temperature * 120.0 * 8.314510e7)
    return [rounded("C", result.view(), moles * density, species + 10)]


@real_program(
    "shoc",
    "src/cuda/level0/MaxFlops.cu",
    "Add1<float>",
    "MAdd4<float>",
    "MAdd2<double>",
    computes="chains of additions and of products with additions",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def max_flops(device: Device) -> Sequence[Check]:
    count, rounds = 256, 2
    start = np.random.default_rng(33).uniform(0, 1, count)
    narrow = start.astype(np.float32)
    added, chained = device.array("added", narrow), device.array("chained", narrow)
    doubles = device.array("doubles", start)
    device.launch("Add1<float>", 2, 128, added, rounds, 10.0)
    device.launch("MAdd4<float>", 2, 128, chained, rounds, 10.0, 0.9899)
    device.launch("MAdd2<double>", 2, 128, doubles, 1, np.float64(10.0), np.float64(0.9899))

    def chain(s: list[Wide], times: int, factor: float) -> Wide:
        for _ in range(times):
            s = [10.0 - x * factor for x in s]
        return np.asarray(np.sum(s, axis=0))

    two = [narrow.astype(np.float64), 10 - narrow.astype(np.float64)]
    four = two + [9 - x for x in two]
    # Each step takes 0.9899 of the error so far: some 100 steps' roundings, for every term.
    return [
        # v - (v - s) is s again, but for the rounding of v - s.
        rounded("added", added.view(), narrow, 480, scale=10.0),
        rounded("chained", chained.view(), chain(four, 120, float(np.float32(0.9899))), 800, 10.0),
        rounded("doubles", doubles.view(), chain([start, 10 - start], 120, 0.9899), 400, 10.0),
    ]


@real_program(
    "shoc",
    "src/cuda/level0/DeviceMemory.cu",
    "readGlobalMemoryCoalesced",
    "readGlobalMemoryUnit",
    "writeGlobalMemoryCoalesced",
    "writeGlobalMemoryUnit",
    computes="reads and writes of global memory with and without coalescing",
    std="c++14",
    includes=_HEADERS,
    empty_headers=("config.h",),
    defines=_CONFIGURED,
)
def device_memory(device: Device) -> Sequence[Check]:
    size, threads, blocks, rounds = 1 << 20, 64, 16, 3
    count = threads * blocks
    data = np.random.default_rng(34).integers(0, 100, size).astype(np.float32)
    given = device.array("in", data)
    thread = np.arange(count)
    checks = []
    for kind, start, stride, step in (
        ("Coalesced", thread, 32768, 524288),
        ("Unit", thread * 512, 1, 16),
    ):
        places = start[:, None, None] + stride * np.arange(16) + step * np.arange(rounds)[:, None]
        places = (places & (size - 1)).reshape(count, -1)
        sums, written = device.zeros(f"sums{kind}", count), device.zeros(f"out{kind}", size)
        device.launch(f"readGlobalMemory{kind}", blocks, threads, given, sums, size, rounds)
        device.launch(f"writeGlobalMemory{kind}", blocks, threads, written, size, rounds)
        checks.append(exact(f"sums, {kind}", sums.view(), data[places].sum(1)))
        expected = np.zeros(size, np.float32)
        expected[places] = thread[:, None]
        checks.append(exact(f"written, {kind}", written.view(), expected))
    return checks
