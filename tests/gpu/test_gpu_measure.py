"""Measuring, against a driver that is simulated; on a real GPU where there is one."""

from dataclasses import replace

import numpy as np
import pytest
from cuda.bindings import driver as real
from fake_driver import FakeDriver
from pydantic import TypeAdapter

from placewise.errors import CaseError
from placewise.executor.result import Execution
from placewise.gpu.device import Device, DeviceError
from placewise.gpu.measure import measure
from placewise.gpu.record import read_measurements, write_measurements
from placewise.gpu.timing import Options
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.launch import ArrayArgument, TextureArgument
from placewise.rewriter.rewritten import Rewritten
from placewise.schemas import DOCUMENTS
from placewise.space import Placement

N = 1000
X = np.random.default_rng(0).normal(size=N).astype(np.float32)
TABLE = np.float32([1, 2, 4, 8])
Y = np.random.default_rng(1).normal(size=N).astype(np.float32)
FACTOR = np.float32(1.5)

GLOBAL = """
__global__ void update(const float *x, const float *table, float *y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i] * table[i % 4];
}
"""
CONSTANT = """
__constant__ float table_constant[4];
__global__ void update_constant(const float *x, float *y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i] * table_constant[i % 4];
}
"""
TEXTURE = """
__global__ void update_texture(cudaTextureObject_t x, const float *table, float *y,
                               float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * tex1Dfetch<float>(x, i) * table[i % 4];
}
"""
EXPECTED = Y + FACTOR * X * np.tile(TABLE, N // 4)


def update(x, table):
    return FACTOR * x * np.tile(table, N // 4)


def run_global(cuda, module, grid, x, table, y, factor, n):
    assert (grid, factor, n) == ((4, 1, 1), FACTOR, N)
    out = cuda.array(y, np.float32, n)
    out += update(cuda.array(x, np.float32, n), cuda.array(table, np.float32, 4))


def run_constant(cuda, module, grid, x, y, factor, n):
    table, size = cuda.constants[module, "table_constant"]
    assert size == 16
    out = cuda.array(y, np.float32, n)
    out += update(cuda.array(x, np.float32, n), cuda.array(table, np.float32, 4))


def run_texture(cuda, module, grid, x, table, y, factor, n):
    pointer, texel, channels, flags = cuda.textures[x]
    assert (texel, channels, flags) == (real.CUarray_format.CU_AD_FORMAT_FLOAT, 1, 0)
    out = cuda.array(y, np.float32, n)
    out += update(cuda.array(pointer, np.float32, n), cuda.array(table, np.float32, 4))


def run_wrong(cuda, module, grid, x, table, y, factor, n):
    out = cuda.array(y, np.float32, n)
    out[:] = np.nextafter(EXPECTED, np.float32(np.inf))


def run_fault(cuda, module, grid, x, table, y, factor, n):
    raise MemoryError


POINTER, SCALARS = np.uint64, (np.float32, np.int32)
KERNELS = {
    "update_constant": ((POINTER, POINTER, *SCALARS), run_constant),
    "update_texture": ((POINTER, POINTER, POINTER, *SCALARS), run_texture),
    "update_wrong": ((POINTER, POINTER, POINTER, *SCALARS), run_wrong),
    "update_fault": ((POINTER, POINTER, POINTER, *SCALARS), run_fault),
    "updatePK": ((POINTER, POINTER, POINTER, *SCALARS), run_global),
}


def original():
    names = ("x", "table", "y", "factor", "n")
    values = (X, TABLE, Y, FACTOR, np.int32(N))
    return make_case("update", GLOBAL, dict(zip(names, values, strict=True)), problem=N, block=256)


def truth():
    return Execution(
        outputs=(("x", X), ("table", TABLE), ("y", EXPECTED)),
        read=frozenset({"x", "table", "y"}),
        written=frozenset({"y"}),
        warp_instructions=0,
        thread_instructions=0,
        sites=(),
        site_executions=np.zeros(0, np.int64),
        seconds=0.0,
    )


def version(space="global", kernel="update", source=GLOBAL, drop=None, texture=None, **changes):
    case = original()
    inputs = case.inputs
    arguments = tuple(
        TextureArgument(a.name, a.data) if a.name == texture and isinstance(a, ArrayArgument) else a
        for a in inputs.arguments
        if a.name != drop
    )
    constants = ((f"{drop}_constant", TABLE),) if drop else ()
    case = replace(
        case,
        kernel=kernel,
        source=source,
        inputs=replace(inputs, arguments=arguments, constants=constants),
        **changes,
    )
    placement = Placement.of({"x": space if texture else "global", "table": space, "y": "global"})
    return Rewritten(placement, case, host="", edits=())


def constant():
    return version("constant", "update_constant", CONSTANT, drop="table")


def renamed(name):
    return version(kernel=name, source=GLOBAL.replace("update", name))


def measured(*versions, driver=None, **options):
    driver = driver or FakeDriver(KERNELS)
    chosen = Options(**{"warmup": 2, "repeats": 5, **options})
    result = measure(original(), versions, options=chosen, expected=truth(), driver=driver)
    assert not driver.live
    assert not driver.memory
    return result


def test_three_ways_of_access_are_timed_and_correct():
    texture = version("texture", "update_texture", TEXTURE, texture="x")
    result = measured(version(), constant(), texture)
    assert [r.error for r in result.records] == [None] * 3
    assert all(r.identical for r in result.records)
    assert result.records[1].placement == (("x", "global"), ("table", "constant"), ("y", "global"))
    assert result.left_out == 0
    assert result.device.name == "Fake GPU"
    assert result.device.arch == "sm_80"
    assert result.device.cuda_version == "13.0"
    assert result.records[0].registers == 24


def test_times_are_between_the_events_around_each_launch():
    costs = iter(np.arange(1.0, 100.0))
    driver = FakeDriver(KERNELS, milliseconds=lambda entry: next(costs))
    (record,) = measured(version(), driver=driver, l2=("warm",)).records
    (timing,) = record.timings
    # The original is launched, then the version: one launch is checked, one tells how many repeats
    # are affordable, two warm up.
    assert timing.times_ms == (6, 7, 8, 9, 10)
    assert timing.median_ms == 8
    assert timing.quartiles_ms == (7, 9)


def test_long_kernels_are_repeated_less_often():
    driver = FakeDriver(KERNELS, milliseconds=lambda entry: 30.0)
    (record,) = measured(version(), driver=driver, l2=("warm",), state_limit_s=0.1).records
    assert len(record.timings[0].times_ms) == 3


def test_l2_is_overwritten_before_each_flushed_launch_only():
    driver = FakeDriver(KERNELS)
    (record,) = measured(version(), driver=driver).records
    assert [t.l2 for t in record.timings] == ["warm", "flushed"]
    assert driver.calls.count("cuMemsetD8Async") == 2 + 5
    timed = "cuMemsetD8Async", "cuEventRecord", "cuLaunchKernel", "cuEventRecord"
    last = [c for c in driver.calls if c in timed][-4:]
    assert tuple(last) == timed


def test_many_repeats_come_in_batches_that_each_warm_up():
    costs = iter(np.arange(1.0, 1000.0))
    driver = FakeDriver(KERNELS, milliseconds=lambda entry: next(costs) / 1000)
    (record,) = measured(version(), driver=driver, l2=("warm",), repeats=60).records
    times = np.round(1000 * np.array(record.timings[0].times_ms))
    np.testing.assert_array_equal(times, np.r_[6:56, 58:68])


def test_updated_arrays_start_anew_before_each_launch():
    seen = []

    def run(cuda, module, grid, x, table, y, factor, n):
        seen.append(cuda.array(y, np.float32, n).copy())
        run_global(cuda, module, grid, x, table, y, factor, n)

    signature, _ = KERNELS["updatePK"]
    measured(version(), driver=FakeDriver({"updatePK": (signature, run)}))
    assert len(seen) == 1 + 1 + 2 * (1 + 2 + 5)
    assert all(np.array_equal(y, Y) for y in seen)


def test_wrong_results_are_counted_in_last_places():
    (record,) = measured(renamed("update_wrong")).records
    (check,) = record.outputs
    assert not record.identical
    assert (check.array, check.different, check.elements, check.max_ulp) == ("y", N, N, 1)


def test_versions_are_compared_with_the_original_on_the_gpu():
    """A GPU whose original differs from the executor: not its versions' fault."""
    signature, _ = KERNELS["updatePK"]
    driver = FakeDriver({"updatePK": (signature, run_wrong)})
    result = measured(version(), driver=driver)
    assert result.records[0].identical
    (check,) = result.executor
    assert (check.array, check.different, check.max_ulp) == ("y", N, 1)


def test_dynamic_shared_memory_is_asked_for():
    driver = FakeDriver(KERNELS)
    launch = replace(original().launch, shared_bytes=100_000)
    (record,) = measured(version(launch=launch), driver=driver).records
    assert record.dynamic_shared_bytes == 100_000
    assert driver.calls.count("cuFuncSetAttribute") == 1


def test_a_version_that_does_not_compile_does_not_stop_the_others():
    bad, good = measured(version(source="__global__ void update() { oops; }"), version()).records
    assert "oops" in bad.error
    assert not bad.timings
    assert good.identical


def test_an_unknown_constant_is_that_versions_error():
    wrong = version("constant", "update_constant", CONSTANT, drop="x")
    bad, good = measured(wrong, version()).records
    assert "cuModuleGetGlobal" in bad.error
    assert good.identical


def test_a_fault_ends_the_measurement():
    driver = FakeDriver(KERNELS)
    result = measure(
        original(),
        [version(), renamed("update_fault"), version()],
        options=Options(repeats=2),
        expected=truth(),
        driver=driver,
    )
    assert [r.error is None for r in result.records] == [True, False]
    assert "ILLEGAL_ADDRESS" in result.records[1].error
    assert result.left_out == 1


def test_an_old_driver_is_named_in_the_hint():
    driver = FakeDriver(KERNELS, version=12040)
    (record,) = measured(version(), driver=driver).records
    assert "made for CUDA 12.4" in record.error


def test_no_version_begins_after_the_time_limit():
    result = measured(version(), version(), time_limit_s=-1.0)
    assert not result.records
    assert result.left_out == 2


@pytest.mark.parametrize(("devices", "ordinal"), [(0, 0), (1, 1), (2, -1)])
def test_missing_device_is_one_error(devices, ordinal):
    with pytest.raises(DeviceError):
        Device(ordinal, FakeDriver(KERNELS, devices=devices))


def test_options_are_checked():
    with pytest.raises(CaseError):
        Options(repeats=0)


def test_data_file_round_trip(tmp_path):
    result = measured(version(), renamed("update_wrong"), version(source="oops"))
    path = tmp_path / "new" / "gpu.json"
    write_measurements(path, (result,))
    assert read_measurements(path) == (result,)
    document = TypeAdapter(DOCUMENTS["placewise-measurements"])
    document.validate_json(path.read_text(), strict=True)
    path.write_text('{"schema": "placewise-measurements", "schema_version": 1}')
    with pytest.raises(Exception, match="version 2"):
        read_measurements(path)


def has_gpu():
    try:
        with Device():
            return True
    except DeviceError:
        return False


def test_without_a_driver_the_error_is_one_line():
    if has_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match="no NVIDIA driver or GPU found") as caught:
        Device()
    assert "\n" not in str(caught.value)


@pytest.mark.gpu
def test_on_a_real_gpu():
    if not has_gpu():
        pytest.skip("no GPU")
    texture = version("texture", "update_texture", TEXTURE, texture="x")
    result = measure(original(), [version(), constant(), texture])
    assert [r.error for r in result.records] == [None] * 3
    assert all(r.identical for r in result.records)
    assert all(0 < t.median_ms < 10 for r in result.records for t in r.timings)
