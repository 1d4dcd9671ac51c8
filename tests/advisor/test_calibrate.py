"""Calibrations get back the clock and the factor that a time was made with."""

import pytest

import placewise
from placewise.errors import CaseError, MachineError, UnsupportedError
from placewise.machine import load_machine, parse_machine
from placewise.machine.clocks import clock_range

COMPUTES = """
__global__ void computes(float *y, int rounds)
{
    float a = threadIdx.x, b = 1.0f;
    for (int i = 0; i < rounds; ++i) { a = a * b + 0.5f; b = b * a + 0.25f; }
    y[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}
"""
STREAMS = """
__global__ void streams(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}
"""


def case_of(source, name, blocks, *arguments):
    import numpy as np

    n = blocks * 256
    arrays = [np.zeros(n, np.float32) for _ in range(1 + (not arguments))]
    return placewise.make_case(name, source, [*arrays, *arguments], grid=blocks, block=256)


@pytest.fixture(scope="module")
def computing():
    import numpy as np

    return case_of(COMPUTES, "computes", 432, np.int32(4000))


def test_a_computing_kernel_tells_the_clock(computing):
    slow = placewise.predict_time(computing, "A100", clock=1000)
    found = placewise.calibrate(computing, "A100", slow.milliseconds)
    assert found.tells_clock
    assert found.clock_mhz == pytest.approx(1000, rel=0.001)
    assert found.factor == pytest.approx(1.0, rel=0.001)


def test_a_time_beyond_all_clocks_leaves_a_factor(computing):
    slow = placewise.predict_time(computing, "A100", clock="base")
    found = placewise.calibrate(computing, "A100", 1.3 * slow.milliseconds)
    assert found.clock_mhz == 765
    assert found.factor == pytest.approx(1.3, rel=0.001)
    given = placewise.calibrate(computing, "A100", 1.3 * slow.milliseconds, clock="base")
    assert not given.tells_clock
    assert given.factor == pytest.approx(1.3, rel=0.001)


def test_a_streaming_kernel_does_not_tell_the_clock():
    case = case_of(STREAMS, "streams", 60_000)
    predicted = placewise.predict_time(case, "A100").milliseconds
    found = placewise.calibrate(case, "A100", 1.1 * predicted)
    assert not found.tells_clock
    assert found.clock_mhz == 1410
    assert found.factor == pytest.approx(1.1, rel=0.001)


def test_the_machine_file_predicts_the_measured_time(computing):
    measured = 2.0 * placewise.predict_time(computing, "A100").milliseconds
    found = placewise.calibrate(computing, "A100", measured)
    machine = parse_machine(found.machine_file("Mine", "A100"), "mine.msl")
    assert clock_range(machine).is_known
    again = placewise.predict_time(computing, machine)
    assert again.milliseconds == pytest.approx(measured, rel=0.001)
    for own, base in zip(machine.memories, load_machine("A100").memories, strict=True):
        assert (own.size_bytes, own.latency_cycles) == (base.size_bytes, base.latency_cycles)
    with pytest.raises(MachineError, match="calibrated already"):
        placewise.calibrate(computing, machine, measured)


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), float("inf")])
def test_no_kernel_takes_such_a_time(time):
    with pytest.raises(CaseError, match="no kernel takes"):
        placewise.calibrate("spmv", "A100", time)


def test_a_gpu_without_predicted_times_is_refused():
    with pytest.raises(UnsupportedError, match="no time is predicted"):
        placewise.calibrate("spmv", "K20c", 1.0)
