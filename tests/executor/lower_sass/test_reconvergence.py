"""Where lanes of machine code meet again: each group that arrives executes the BSYNC."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuda_run import arguments, compiled

from placewise.executor import Execution, execute
from placewise.kernel.binary.machine_code import listing_of
from placewise.kernel.launch import Inputs, Launch

SOURCE = r"""
extern "C" __global__ void turns(const int *count, const int *x, int *y) {
    int i = threadIdx.x, sum = 0;
    #pragma unroll 1
    for (int k = 0; k < count[i]; ++k) sum += x[k] + i;
    y[i] = sum;
}
extern "C" __global__ void nested(const int *count, const int *x, int *y) {
    int i = threadIdx.x, sum = 0;
    #pragma unroll 1
    for (int k = 0; k < count[i]; ++k) {
        #pragma unroll 1
        for (int m = 0; m <= x[(i + k) & 63]; ++m) sum += x[m];
        sum += k;
    }
    y[i] = sum;
}
"""
THREADS = 64
ARCHS = ["sm_75", "sm_80", "sm_90"]
COUNT = np.minimum(np.random.default_rng(5).zipf(1.3, THREADS) - 1, 60).astype(np.int32)
X = np.random.default_rng(6).integers(0, 5, THREADS).astype(np.int32)
WARPS = COUNT.reshape(-1, 32)


def run(kernel: str, arch: str) -> tuple[Execution, dict[str, list[int]]]:
    """Executions of each instruction of a kernel's machine code in its order, by opcode."""
    code = compiled(SOURCE, kernel, arch)
    inputs = Inputs(arguments(count=COUNT, x=X, y=np.zeros(THREADS, np.int32)))
    launch = Launch((1, 1, 1), (THREADS, 1, 1))
    done = execute(replace(code, machine_code=True), launch, inputs)
    assert code.cubin is not None
    warps = {count.place: count.warps for count in done.instruction_counts()}
    assert done.warp_instructions == sum(warps.values())
    found: dict[str, list[int]] = {}
    for i in listing_of(code.cubin, kernel).instructions:
        found.setdefault(i.parts[0], []).append(warps.get(i.offset, 0))
    return done, found


def groups(warps: np.ndarray) -> int:
    """Lanes that leave a loop after as many turns leave it together."""
    return sum(len(set(warp.tolist())) for warp in warps)


@pytest.mark.parametrize("arch", ARCHS)
def test_lanes_that_leave_a_loop_at_different_times(arch: str) -> None:
    _, executed = run("turns", arch)
    # Behind the loop wait those that went round; lanes that did not may meet them later.
    turned = sum(len(set(warp[warp > 0].tolist())) for warp in WARPS)
    started = sum(len(set((warp > 0).tolist())) for warp in WARPS)
    assert executed["BSYNC"] in ([groups(WARPS)], [turned, started])


@pytest.mark.parametrize("arch", ARCHS)
def test_a_loop_in_a_loop(arch: str) -> None:
    done, executed = run("nested", arch)
    inner = 0
    for first in (0, 32):
        lanes = np.arange(first, first + 32)
        for k in range(COUNT[lanes].max()):
            inner += len(set(X[(lanes[COUNT[lanes] > k] + k) & 63].tolist()))
    turned = sum(len(set(warp[warp > 0].tolist())) for warp in WARPS)
    assert inner in executed["BSYNC"]
    assert {groups(WARPS), turned} & set(executed["BSYNC"])
    expected = [
        sum(int(X[: X[(i + k) & 63] + 1].sum()) + k for k in range(COUNT[i]))
        for i in range(THREADS)
    ]
    np.testing.assert_array_equal(done.output("y"), expected)
