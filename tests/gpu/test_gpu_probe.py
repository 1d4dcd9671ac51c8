"""The probe's kernels on the CPU executor, through everything that leads to a GPU's driver."""

import numpy as np
import pytest
from executor_driver import ExecutorDriver
from fake_driver import FakeDriver

from placewise.errors import MachineError
from placewise.gpu.device import DeviceError
from placewise.gpu.probe_chase import route_of
from placewise.gpu.probe_target import GpuTarget
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.probe.chase import Chase
from placewise.probe.session import Request, probe
from placewise.probe.target import instructions_of
from placewise.probe.write_machine import machine_text

PLACES = np.array([0, 512, 128, 4096, 640])


@pytest.fixture(scope="module")
def driver():
    return ExecutorDriver()


@pytest.fixture(scope="module")
def target(driver):
    with GpuTarget(driver=driver, reach_bytes=1 << 20) as target:
        yield target


@pytest.mark.parametrize("path", ["global", "readonly", "texture", "constant", "shared"])
def test_chained_and_listed_loads_visit_what_numpy_says(target, path):
    chaser = target.chaser(path)
    # A device pointer chase that strays is an error of `run`; here the places are read as well.
    for lap, before in ((PLACES, PLACES[:0]), (np.array([0, 4, 0, 8, 4]), np.array([12, 0]))):
        chase = Chase(lap, laps=3, warm=1, before=before)
        route = route_of(chase)
        words = int(route.places.max()) + 1 if path == "shared" else 0
        untimed = len(before) + len(lap)
        cycles, places = target.kernels.timed(path, route, untimed, 3, chaser.source, words)
        assert cycles.shape == (3, 5)
        own = np.tile(lap // 4, 3).tolist()
        # A chained load leaves the place that it was sent to.
        assert places.tolist() == (own if route.values is None else [*own[1:], own[0]])
        assert (chaser.run(chase).cycles >= 0).all()


def test_loads_pass_l1_by_where_they_are_told_to(driver, target):
    target.chaser("global").run(Chase(PLACES, bypass=1))
    assert "chained_l2" in [name for name, _ in driver.launched]


@pytest.mark.parametrize("lap", [np.zeros(1, np.int64), np.array([0, 4, 0, 4] * 200)])
def test_stalls_of_the_chase_itself_are_not_the_loads(target, monkeypatch, lap):
    """Clocks as an H100 left them: every 16th load 23 cycles longer, every 256th 142."""
    kernels = target.kernels
    timed = kernels.timed

    def stalled(path, route, untimed, laps, source, words):
        cycles, places = timed(path, route, untimed, laps, source, words)
        at = np.arange(cycles.size) % 256
        longer = np.where(at == 0, 142, np.where(at % 16 == 0, 23, 0))
        loads = 0 if path == "nothing" else 33
        return (10 + loads + longer).reshape(cycles.shape).astype(np.uint16), places

    monkeypatch.setattr(kernels, "timed", stalled)
    monkeypatch.setattr(kernels, "_overheads", {})
    found = target.chaser("global").run(Chase(lap, laps=3)).cycles
    np.testing.assert_array_equal(found, 33)


def test_addresses_that_repeat_go_to_other_words_of_their_sector():
    route = route_of(Chase(np.array([0, 64, 0, 32]), before=np.array([64])))
    assert route.places.tolist() == [16, 0, 17, 1, 8]
    assert route.values.tolist() == [0, 17, 1, 8, 0]
    assert route.lap.tolist() == [0, 17, 1, 8]


def test_addresses_that_repeat_too_often_or_lie_close_are_listed():
    often = route_of(Chase(np.zeros(9, np.int64)))
    assert often.values is None
    assert often.places.tolist() == [0] * 9
    assert route_of(Chase(np.array([0, 4, 0]))).values is None
    assert route_of(Chase(np.array([0, 4, 8]))).values is not None


def test_a_chase_of_many_batches_keeps_its_order(target):
    lap = np.random.default_rng(1).permutation(2000) * 64
    timings = target.chaser("global").run(Chase(lap, laps=2, warm=1, before=lap[:10]))
    assert timings.cycles.shape == (2, 2000)


def test_long_kernels_are_refused_where_the_device_would_end_them(target):
    with pytest.raises(DeviceError, match="drives a display"):
        target.chaser("global").run(Chase(PLACES, laps=1_000_000))


def test_the_array_is_zero_again_after_a_chase(driver, target):
    target.chaser("global").run(Chase(PLACES))
    assert not driver.arrays[int(target.kernels.array)].view().any()


def test_pairs_load_both_addresses(target):
    pairs = target.pairs()
    assert pairs.address_bits == 20
    first, second = np.array([0, 1 << 19, 4096]), np.array([128, 1 << 18, 8192])
    times = pairs.second(first, second)
    assert times.shape == (3,)
    # The executor's clock ticks once whenever it is read.
    assert times.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("width", [4, 8, 16])
def test_strided_lanes_stay_at_their_own_places(driver, target, width):
    kernel = driver.body(f"bank_latency_{width}")
    memory = driver.device_memory
    cycles = memory.upload(f"cycles {width}", np.zeros(2, np.uint32))
    out = memory.upload(f"out {width}", np.zeros(32, np.uint32))
    memory.launch(kernel, Launch((1, 1, 1), (32, 1, 1)), [np.uint32(3), cycles, out])
    # The last load, too, returned its own address.
    assert out.download().tolist() == (np.arange(32) * 3 * width).tolist()
    times = target.banks(3, width)
    assert (times.stride, times.width) == (3, width)
    assert times.latency_cycles > 0


FEW = ("FFMA", "DFMA", "SHFL", "HMMA_16816_F32")
ALL = [n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in instructions_of((8, 0))]


@pytest.mark.parametrize("name", ALL)
def test_instructions_run_and_leave_two_clocks(target, name):
    times = target.instruction(name)
    assert times.opcode == name.replace("_", ".")
    assert times.latency_cycles > 0
    assert times.lanes_per_cycle > 0


@pytest.mark.parametrize("level", ["L1", "L2", "DRAM"])
def test_streams_stay_inside_the_array(driver, target, level, monkeypatch):
    monkeypatch.setattr("placewise.gpu.probe_target._STREAM_BYTES", 1 << 14)
    monkeypatch.setattr("placewise.gpu.probe_target._IDLE_CYCLES", 10)
    times = target.stream(level, 2)
    name, values = next(launched for launched in reversed(driver.launched))
    assert name == ("stream_through_l1" if level == "L1" else "stream_past_l1")
    _, step, count, passes, _ = values
    blocks = target.facts.sms
    # The fake clock moves on by one millisecond with each kernel.
    assert times.gb_per_s == pytest.approx(blocks * count * 16 * passes / 1e6)
    assert (step == 0) == (level == "L1")


def test_facts_come_from_the_driver(target):
    facts = target.facts
    assert facts.compute_capability == (8, 0)
    assert facts.dram_gb_per_s == pytest.approx(2 * 1e9 * 16 / 1e9)
    assert facts.max_grid == (2147483647, 65535, 65535)
    assert target.launch_ns() == 1e6


def test_everything_is_given_back():
    driver = ExecutorDriver()
    with GpuTarget(driver=driver, reach_bytes=1 << 18) as target:
        target.chaser("global").run(Chase(PLACES))
    assert not driver.arrays
    assert not driver.live


def test_without_a_gpu_there_is_one_clear_error():
    with pytest.raises(DeviceError, match="no NVIDIA driver or GPU"):
        GpuTarget(driver=FakeDriver({}, devices=0))


@pytest.mark.slow
def test_a_whole_probe_runs_through_the_driver(target, monkeypatch):
    """All loads take one tick here, so nothing is found; but every part asks and is answered."""
    monkeypatch.setattr("placewise.gpu.probe_target._STREAM_BYTES", 1 << 14)
    monkeypatch.setattr("placewise.gpu.probe_target._IDLE_CYCLES", 10)
    found = probe(target, Request(quick=True))
    failed = dict(found.failures)
    assert set(failed) == {"dram"}
    assert "kinds of time" in failed["dram"]
    assert [path.caches for path in found.paths.values()] == [()] * 4
    assert len(found.instructions) == len(instructions_of((8, 0)))
    assert found.curve is not None
    with pytest.raises(MachineError, match="no cache of global memory"):
        machine_text(found, load_machine("A100"), "2026-01-31")
