"""Tuned kernels whose arrays are on a GPU: a stand-in for the driver that runs them on the CPU."""

import numpy as np
import pytest
from test_executor_place import FORM, ORIGINAL
from tuned_kernels import ASSIGN, Assignment
from tuning_driver import GpuArray, GpuKernel, TuningDriver

import placewise
from placewise.gpu import device as device_module
from placewise.runtime import originals
from placewise.runtime import tuner as tuner_module
from placewise.runtime.choice import Choice
from placewise.runtime.devices import device_place


@pytest.fixture
def driver(monkeypatch):
    made = TuningDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: made)
    monkeypatch.setattr(device_place, "load_driver", lambda: made)

    def recorded(compile_one):
        def compile_and_record(*arguments):
            kernel = compile_one(*arguments)
            made.known.append(kernel)
            return kernel

        return compile_and_record

    monkeypatch.setattr(device_place, "compile_form", recorded(device_place.compile_form))
    monkeypatch.setattr(originals, "compile_kernel", recorded(originals.compile_kernel))
    return made


@pytest.mark.slow
def test_choice_is_launched_on_the_gpu(driver, chosen_before):
    """The choice made on the executor for an A100 is found on disk, as the GPU is one."""
    raw = GpuKernel(driver, ASSIGN, "assign")
    tuned = placewise.tune(raw, cache=chosen_before)
    given = Assignment()
    grid, block, (points, _, label, *numbers) = given.launch
    on_gpu = [GpuArray(driver, a) for a in (points, label)]
    for seed in range(3):
        given.centres = np.random.default_rng(seed).random((16, 8), dtype=np.float32)
        centres = GpuArray(driver, given.centres)
        tuned(grid, block, (on_gpu[0], centres, on_gpu[1], *numbers))
        np.testing.assert_array_equal(on_gpu[1].get(), given.truth())
    assert raw.launches == 1
    report = tuned.report()
    assert (report.launches, report.tuned_launches) == (3, 2)
    assert report.classes[0].from_cache


class Placed:
    """The kernel of :data:`ORIGINAL`, tuned, its choice a form with a texture and a constant."""

    def __init__(self, driver, monkeypatch, folder, form=FORM):
        choice = Choice(form, "given", moves="x → constant; w → texture")
        monkeypatch.setattr(tuner_module, "choose", lambda *_: choice)
        self.driver = driver
        self.raw = GpuKernel(driver, ORIGINAL, "f")
        self.tuned = placewise.tune(self.raw, cache=folder)
        self.out = GpuArray(driver, np.zeros(32, np.float32))

    def launch(self, seed, factor=7):
        rng = np.random.default_rng(seed)
        x, w = rng.random(32, dtype=np.float32), rng.random(32)
        arrays = [GpuArray(self.driver, a) for a in (x, w)]
        self.tuned((1,), (32,), (*arrays, self.out, np.float32(factor)))
        return np.float32(factor) * x[::-1].astype(np.float64) + w.astype(np.float32)

    def check(self, expected):
        np.testing.assert_allclose(self.out.get(), expected, rtol=1e-6)


@pytest.fixture
def placed(driver, monkeypatch, tmp_path):
    from dataclasses import replace

    return Placed(driver, monkeypatch, tmp_path, replace(FORM, bound=()))


def test_textures_and_constants_of_each_launch(placed):
    for seed in range(5):
        placed.check(placed.launch(seed))
    # The original ran where a form was compared: at the first launch and the fourth.
    assert placed.raw.launches == 2
    assert placed.tuned.report().tuned_launches == 3


def test_the_same_launch_again_takes_the_short_way(placed, monkeypatch):
    """Arrays at the same places are launched on again, whatever they hold by then, until a launch
    is compared; a zero of another sign is another launch."""
    rng = np.random.default_rng(0)
    x, w = (GpuArray(placed.driver, rng.random(32, dtype=t)) for t in (np.float32, np.float64))
    long_ways = []
    launch = placed.tuned._tuner.launch
    monkeypatch.setattr(
        placed.tuned._tuner, "launch", lambda call: long_ways.append(call) or launch(call)
    )
    for n in range(1, 20):
        factor = np.float32(-0.0 if n == 19 else 0.0 if n > 9 else 7)
        content = np.frombuffer(placed.driver.find(x.array.address, 128), np.float32)
        content[:] = rng.random(32)
        expected = factor * content[::-1].astype(np.float64) + w.get().astype(np.float32)
        placed.tuned((1,), (32,), (x, w, placed.out, factor))
        placed.check(expected)
    # The first launch, which chooses; the second; the compared ones; and each other factor.
    assert len(long_ways) == len({1, 2, 4, 10, 16, 19})
    report = placed.tuned.report()
    assert (report.launches, report.tuned_launches) == (19, 16)


def test_trying_a_form_leaves_the_programs_arrays_alone(placed):
    """What was compared is the original's result; the form ran on copies."""
    expected = placed.launch(0)
    assert placed.driver.launched
    placed.check(expected)
    names = [a.name for a in placed.driver.arrays.values()]
    assert all("of the program" in name for name in names if name.startswith("array"))


def test_a_stream_that_is_recorded_runs_the_original_at_first(placed):
    placed.driver.recording = True
    expected = placed.launch(0)
    placed.driver.recording = False
    placed.check(expected)
    (one,) = placed.tuned.report().classes
    assert one.why == "the stream is being recorded into a graph"
    placed.check(placed.launch(1))
    assert placed.raw.launches == 2


def test_constants_belong_to_one_stream(placed, monkeypatch):
    from placewise.runtime import tuned as tuned_module

    for seed in range(2):
        placed.check(placed.launch(seed))
    monkeypatch.setattr(tuned_module, "_cupy_stream", lambda _arguments: 5)
    placed.check(placed.launch(2))
    assert placed.raw.launches == 2


def test_textures_need_an_aligned_address(placed):
    placed.check(placed.launch(0))
    place = placed.tuned._tuner._where.__self__._devices[0].place
    place._alignment = 1 << 60
    placed.check(placed.launch(1))
    assert placed.raw.launches == 2


def test_another_context_runs_the_original(placed):
    placed.check(placed.launch(0))
    placed.driver.current = 12345
    placed.check(placed.launch(1))
    assert placed.raw.launches == 2


def test_source_alone_is_launched_on_the_arrays_gpu(driver, monkeypatch, tmp_path):
    monkeypatch.setattr(tuner_module, "choose", lambda *_: Choice(None, "nothing"))
    tuned = placewise.tune(ORIGINAL, "f", cache=tmp_path)
    rng = np.random.default_rng(0)
    x, w = rng.random(32, dtype=np.float32), rng.random(32)
    arrays = [GpuArray(driver, a) for a in (x, w, np.zeros(32, np.float32))]
    for _ in range(2):
        tuned(1, 32, (*arrays, np.float32(2)))
    np.testing.assert_allclose(arrays[2].get(), 2 * x[::-1] + w, rtol=1e-6)
    assert len(driver.launched) == 2


def test_arrays_on_both_sides_are_the_librarys_to_judge(placed):
    x, w = np.zeros(32, np.float32), np.zeros(32)
    placed.tuned((1,), (32,), (x, w, placed.out, np.float32(1)))
    assert placed.raw.launches == 1
    untuned = placewise.tune(ORIGINAL, "f")
    with pytest.raises(placewise.PlacewiseError, match="others on a GPU"):
        untuned(1, 32, (x, w, placed.out, np.float32(1)))
