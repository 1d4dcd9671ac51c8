"""Tuned kernels on the executor: the same results as untuned ones, whatever happens."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda
from tuned_kernels import ASSIGN, Assignment, RawKernel

import placewise
from placewise.errors import CaseError, ExecutionError, PlacewiseError
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.runtime import tuner as tuner_module
from placewise.runtime.choice import Choice
from placewise.runtime.devices.executor_place import ExecutorPlace
from placewise.runtime.form import Form

HERE = Path(__file__).parent


def tune_assign(folder, **options):
    return placewise.tune(ASSIGN, "assign", machine="A100", cache=folder, **options)


def only(tuned):
    (one,) = tuned.report().classes
    return one


def test_a_tuned_kernel_prints_its_name_and_machine(tmp_path):
    assert repr(tune_assign(tmp_path)) == "TunedSource(assign for A100)"
    on_any = placewise.tune(ASSIGN, "assign", cache=tmp_path)
    assert repr(on_any) == "TunedSource(assign for the GPU of its arrays)"


def test_first_launch_chooses_and_later_ones_run_the_choice(tmp_path):
    raw = RawKernel(ASSIGN, "assign")
    tuned = placewise.tune(raw, machine="A100", cache=tmp_path, patience=float("inf"))
    for seed in range(3):
        given = Assignment(seed=seed)
        tuned(*given.launch)
        np.testing.assert_array_equal(given.label, given.truth())
    report = tuned.report()
    assert (report.launches, report.tuned_launches) == (3, 2)
    one = only(tuned)
    assert "shared" in one.moves
    assert one.chosen_ms < one.present_ms
    assert one.overhead.search > 0
    assert one.overhead.compilation > 0
    assert one.overhead.checks > 0
    assert tuned.max_dynamic_shared_size_bytes == 49152


def test_numpy_arrays_need_no_stream_of_cupy(tmp_path, monkeypatch, assignment):
    def no_gpu():
        raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    cupy = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=no_gpu))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    raw = RawKernel(ASSIGN, "assign")
    placewise.tune(raw, machine="A100", cache=tmp_path)(*assignment.launch)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    with pytest.raises(CaseError, match="needs a machine"):
        placewise.tune(raw, cache=tmp_path)(*assignment.launch)


def test_choice_is_found_on_disk(chosen_before, assignment):
    tuned = tune_assign(chosen_before)
    for _ in range(2):
        tuned(*assignment.launch)
    one = only(tuned)
    assert one.from_cache
    assert one.tuned_launches == 1
    assert one.overhead.search == 0
    np.testing.assert_array_equal(assignment.label, assignment.truth())


@pytest.mark.parametrize("other", [{"source": ASSIGN + "\n//"}, {"machine": "H100"}])
def test_choice_on_disk_is_for_its_source_and_machine(
    chosen_before, assignment, other, monkeypatch
):
    asked = []

    def choose(*arguments):
        asked.append(arguments)
        return tuner_module.keep_original("not asked")

    monkeypatch.setattr(tuner_module, "choose", choose)
    folder = chosen_before
    source = other.get("source", ASSIGN)
    machine = other.get("machine", "A100")
    tuned = placewise.tune(source, "assign", machine=machine, cache=folder)
    tuned(*assignment.launch)
    assert asked
    assert not only(tuned).from_cache


def test_other_shapes_and_numbers_are_other_classes(chosen_before):
    tuned = tune_assign(chosen_before, patience=0.0)
    for n, k in ((4096, 16), (2048, 16), (4096, 9), (4096, 16)):
        given = Assignment(n=n, k=k)
        tuned(*given.launch)
        np.testing.assert_array_equal(given.label, given.truth())
    classes = tuned.report().classes
    assert [c.launches for c in classes] == [2, 1, 1]
    assert [bool(c.moves) for c in classes] == [True, False, False]
    assert "took more than 0 s" in classes[1].why


def test_fewer_rows_than_threads_reach(chosen_before):
    """The same shapes with another ``n``, on which accesses depend."""
    tuned = tune_assign(chosen_before, patience=0.0)
    given = Assignment()
    grid, block, arguments = given.launch
    shorter = (*arguments[:3], np.int32(1000), *arguments[4:])
    for passed in (arguments, shorter):
        given.label[:] = -1
        tuned(grid, block, passed)
    # Rows are n numbers apart: as the kernel computes it for n = 1000.
    points = given.points.reshape(-1)[: 8 * 1000].reshape(8, 1000)
    distance = ((points[None] - given.centres[:, :, None]) ** 2).astype(np.float64).sum(1)
    np.testing.assert_array_equal(given.label[:1000], distance.argmin(0))
    assert (given.label[1000:] == -1).all()
    assert len(tuned.report().classes) == 2


def test_scalars_that_decide_nothing_make_no_class(tmp_path):
    source = """__global__ void scale(const float *x, float *y, float a, int seed, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + seed;
    }"""
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    tuned = placewise.tune(source, "scale", machine="A100", cache=tmp_path, patience=0.0)
    for step in range(3):
        tuned(2, 128, (x, y, np.float32(step), step, 256))
        np.testing.assert_array_equal(y, step * x + step)
    assert only(tuned).launches == 3


def test_a_counter_that_decides_is_chosen_for_ever_more_rarely(tmp_path, monkeypatch):
    asked = []

    def choose(case, *_):
        asked.append(int(case.inputs.arguments[-1].value))
        return tuner_module.keep_original("not asked")

    monkeypatch.setattr(tuner_module, "choose", choose)
    source = """__global__ void turn(const float *x, float *y, int step) {
        y[threadIdx.x] = x[(threadIdx.x + step) % 32];
    }"""
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    tuned = placewise.tune(source, "turn", machine="A100", cache=tmp_path)
    for step in (*range(20), *range(20)):
        tuned(1, 32, (x, y, step))
        np.testing.assert_array_equal(y, np.roll(x, -step))
    assert asked == [0, 1, 3, 7, 15]
    classes = tuned.report().classes
    assert [c.other_values for c in classes] == [0, 1, 3, 7, 4]
    assert [c.launches for c in classes] == [2, 4, 8, 16, 10]


def test_a_version_that_rests_on_a_number_is_not_taken_over(chosen_before):
    """Tiles hold for ``k`` = 16 alone: another k is chosen for, or runs the original."""
    tuned = tune_assign(chosen_before, patience=0.0)
    for k in (16, 15, 14, 13, 16):
        given = Assignment(k=16)
        grid, block, arguments = given.launch
        tuned(grid, block, (*arguments[:4], np.int32(k), arguments[5]))
        given.centres = given.centres[:k]
        np.testing.assert_array_equal(given.label, given.truth())
    # The third takes over the second's original.
    assert [c.launches for c in tuned.report().classes] == [2, 2, 1]
    assert tuned.report().tuned_launches == 1


def test_more_classes_than_allowed_are_launched_as_they_are(chosen_before):
    tuned = tune_assign(chosen_before, patience=0.0, choices=1)
    for n in (4096, 2048, 1024):
        given = Assignment(n=n)
        tuned(*given.launch)
        np.testing.assert_array_equal(given.label, given.truth())
    assert tuned.report().untuned == (("more than 1 classes of launches", 2),)


def test_exception_in_the_kernel_is_the_users(chosen_before, assignment):
    tuned = tune_assign(chosen_before)
    grid, block, arguments = assignment.launch
    short = assignment.label[:100].copy()
    with pytest.raises(ExecutionError, match="out of bounds"):
        tuned(grid, block, (*arguments[:2], short, *arguments[3:]))
    assert (short == -1).all()
    tuned(grid, block, arguments)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    assert only(tuned).launches == 1


@pytest.mark.slow
def test_exception_in_a_later_launch(tmp_path):
    source = """__global__ void pick(const int *at, const float *x, float *y) {
        y[threadIdx.x] = x[at[threadIdx.x]];
    }"""
    at, x = np.arange(32, dtype=np.int32), np.arange(32, dtype=np.float32)
    y = np.zeros(32, np.float32)
    tuned = placewise.tune(source, "pick", machine="A100", cache=tmp_path)
    tuned(1, 32, (at, x, y))
    at[5] = 1000
    with pytest.raises(ExecutionError, match="out of bounds"):
        tuned(1, 32, (at, x, y))
    at[5] = 6
    tuned(1, 32, (at, x, y))
    assert y[5] == 6


def test_a_version_that_fails_gives_way_to_the_original(chosen_before, assignment, monkeypatch):
    tuned = tune_assign(chosen_before)
    tuned(*assignment.launch)

    def fail(*_):
        raise ExecutionError("trapped")

    monkeypatch.setattr(ExecutorPlace, "launcher", lambda *_: fail)
    assignment.label[:] = -1
    tuned(*assignment.launch)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    one = only(tuned)
    assert one.why == "the chosen version failed: trapped"
    assert not one.moves


def spoil(folder, change):
    """A copy of a cache folder, its entries changed under a right checksum."""
    from placewise.disk_cache import DiskCache

    cache = DiskCache("tuned", files=10, place=folder)
    for path in folder.iterdir():
        cache.write(path.name, change(cache.read(path.name)))


def test_a_version_that_differs_is_refused(chosen_before, tmp_path, assignment):
    folder = tmp_path / "tuned"
    shutil.copytree(chosen_before, folder)
    spoil(folder, lambda text: text.replace(b"s < best", b"s <= 0.9f * best"))
    tuned = tune_assign(folder)
    for _ in range(2):
        tuned(*assignment.launch)
        np.testing.assert_array_equal(assignment.label, assignment.truth())
    one = only(tuned)
    assert one.tuned_launches == 0
    assert "differs from the original's" in one.why


def test_later_launches_are_compared_now_and_then(tmp_path, monkeypatch):
    """A version that differs only for data that the first launch does not have is found out at the
    4th launch of its class, whose result is the original's."""
    source = """__global__ void root(const float *x, float *y) {
        y[threadIdx.x] = x[threadIdx.x] < 0.0f ? 7.0f : 2.0f * x[threadIdx.x];
    }"""
    form = Form(
        Language.CUDA, source.replace("7.0f", "8.0f"), "root.cu", "root", CompileOptions(), 0,
        (0, 1), (), (),
    )  # fmt: skip
    monkeypatch.setattr(tuner_module, "choose", lambda *_: Choice(form, "given", "x → somewhere"))
    tuned = placewise.tune(source, "root", machine="A100", cache=tmp_path)
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    for launch in range(1, 7):
        if launch == 4:
            x[3] = -1
        tuned(1, 32, (x, y))
        np.testing.assert_array_equal(y, np.where(x < 0, 7, 2 * x))
    one = only(tuned)
    assert one.tuned_launches == 2
    assert "differs from the original's in 1 of 32 elements" in one.why


@pytest.mark.parametrize(
    "change", [lambda text: b"", lambda text: b"{}", lambda text: text[:-20], lambda text: b"[1]"]
)
def test_a_damaged_entry_is_chosen_anew(chosen_before, tmp_path, assignment, change):
    folder = tmp_path / "tuned"
    shutil.copytree(chosen_before, folder)
    spoil(folder, change)
    tuned = tune_assign(folder, patience=0.0)
    tuned(*assignment.launch)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    assert not only(tuned).from_cache


def test_a_folder_that_cannot_be_written(tmp_path, chosen_before, assignment, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(
        tuner_module, "choose", lambda *_: tuner_module.keep_original("nothing better")
    )
    tuned = tune_assign(tmp_path / "file" / "folder")
    for _ in range(2):
        tuned(*assignment.launch)
        np.testing.assert_array_equal(assignment.label, assignment.truth())
    assert only(tuned).why == "nothing better"


def test_threads(chosen_before):
    """Each thread has arrays of its own, of two classes; every launch is right."""
    tuned = tune_assign(chosen_before, patience=0.0)
    wrong = []

    def work(seed):
        for step in range(6):
            given = Assignment(n=(4096, 2048)[step % 2], seed=10 * seed + step)
            tuned(*given.launch)
            if not np.array_equal(given.label, given.truth()):
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert tuned.report().launches == 24
    assert [c.launches for c in tuned.report().classes] == [12, 12]


def test_no_launch_waits_for_a_choice(chosen_before, assignment, monkeypatch):
    """While one thread chooses, another's launch of the class runs the original."""
    entered, go_on = threading.Event(), threading.Event()

    def slow(*_):
        entered.set()
        assert go_on.wait(60)
        return tuner_module.keep_original("slow")

    monkeypatch.setattr(tuner_module, "choose", slow)
    tuned = placewise.tune(ASSIGN + " ", "assign", machine="A100", cache=chosen_before)
    first = threading.Thread(target=tuned, args=Assignment(seed=1).launch)
    first.start()
    try:
        assert entered.wait(60)
        tuned(*assignment.launch)
        np.testing.assert_array_equal(assignment.label, assignment.truth())
        assert only(tuned).why == "being chosen"
    finally:
        go_on.set()
        first.join()
    assert only(tuned).launches == 2


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from tuned_kernels import ASSIGN, Assignment
import placewise
from placewise.runtime import tuner
real = tuner.choose
def choose(*arguments):
    print("choosing", flush=True)
    return real(*arguments)
tuner.choose = choose
tuned = placewise.tune(ASSIGN, "assign", machine="A100", cache=Path({cache!r}))
tuned(*Assignment().launch)
"""


def test_a_killed_process_leaves_nothing_wrong(tmp_path, assignment):
    text = KILLED.format(here=str(HERE), cache=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"choosing\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    tuned = tune_assign(tmp_path, patience=0.0)
    tuned(*assignment.launch)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    assert not only(tuned).from_cache


def test_ctrl_c_while_choosing_lets_later_launches_choose_nothing(
    chosen_before, assignment, monkeypatch
):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuner_module, "choose", interrupt)
    tuned = placewise.tune(ASSIGN + "  ", "assign", machine="A100", cache=chosen_before)
    with pytest.raises(KeyboardInterrupt):
        tuned(*assignment.launch)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    tuned(*assignment.launch)
    assert only(tuned).why == "interrupted while it was chosen"


ADD = """__global__ void add(const float *x, const float *y, float *z) {
    z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];
}"""


def test_arrays_that_share_memory_run_the_original(tmp_path):
    x = np.arange(32, dtype=np.float32)
    tuned = placewise.tune(ADD, "add", machine="A100", cache=tmp_path)
    tuned(1, 32, (x, x, x))
    np.testing.assert_array_equal(x, 2 * np.arange(32))
    assert tuned.report().untuned == (("arguments 1 and 2 share memory", 1),)


def test_arrays_of_another_type_are_refused_before_anything_runs(tmp_path):
    x, z = np.arange(32, dtype=np.float64), np.zeros(64, np.float32)
    tuned = placewise.tune(ADD, "add", machine="A100", cache=tmp_path)
    for _ in range(2):
        with pytest.raises(CaseError, match="expects float32 elements, the array has float64"):
            tuned(1, 32, (x, x.copy(), z))
    assert not z.any()
    assert tuned.report().launches == 0


def test_launches_that_are_refused_are_not_counted(tmp_path):
    x, z = np.ones(32, np.float32), np.zeros(64, np.float32)
    tuned = placewise.tune(ADD, "add", machine="A100", cache=tmp_path)
    with pytest.raises(CaseError, match="not contiguous"):
        tuned(1, 32, (x, x.copy(), z[::2]))
    assert tuned.report().launches == 0


def test_a_choice_that_fails_is_warned_of(tmp_path, monkeypatch):
    # A place that leaves types to the user's library, as a GPU does.
    monkeypatch.setattr(ExecutorPlace, "checks_types", False)
    x, z = np.arange(32, dtype=np.float64), np.zeros(64, np.float32)
    tuned = placewise.tune(ADD, "add", machine="A100", cache=tmp_path)
    with pytest.warns(UserWarning, match=r"tuning add: choosing failed: .*float64"):
        tuned(1, 32, (x, x.copy(), z))
    assert tuned.report().launches == 1


def test_arrays_that_overlap_in_part_are_refused(tmp_path):
    x, z = np.arange(40, dtype=np.float32), np.zeros(32, np.float32)
    tuned = placewise.tune(ADD, "add", machine="A100", cache=tmp_path)
    with pytest.raises(PlacewiseError, match="arguments 1 and 2 overlap partly"):
        tuned(1, 32, (x[:32], x[8:], z))
    assert not z.any()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('printf("%d", threadIdx.x); y[threadIdx.x] = 1;', "calls vprintf"),
        ("y[threadIdx.x] = table[threadIdx.x];", "has the variable table"),
        ("((volatile float *)y)[threadIdx.x] = 1;", "orders its accesses"),
    ],
)
def test_kernels_that_are_left_alone(tmp_path, body, why, capfd):
    source = f"""#include <cstdio>
    __device__ float table[32] = {{1, 2}};
    __global__ void f(float *y) {{ {body} }}"""
    y = np.zeros(32, np.float32)
    tuned = placewise.tune(source, "f", machine="A100", cache=tmp_path)
    tuned(1, 32, (y,))
    ((reason, launches),) = tuned.report().untuned
    assert why in reason
    assert launches == 1
    assert y[0] == 1
    capfd.readouterr()


@cuda.jit
def gather(x, at, y, factor):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = factor * x[at[i]]


@pytest.mark.slow
def test_numba_function(tmp_path):
    rng = np.random.default_rng(1)
    x, at = rng.random(1000), rng.integers(0, 1000, 512)
    tuned = placewise.tune(gather, machine="A100", cache=tmp_path)
    for factor in (1.5, 2.5, 3):
        y = np.zeros(512)
        tuned[4, 128](x, at, y, factor)
        np.testing.assert_array_equal(y, factor * x[at])
    y = np.zeros(512)
    tuned.configure((4, 1), (128,), 0, 0)(x, at, y, 2.0)
    np.testing.assert_array_equal(y, 2 * x[at])
    # 1.5, 2.5 and 2.0 are of one type, 3 is of another.
    assert sorted(c.launches for c in tuned.report().classes) == [1, 3]


class CoreKernel:
    """The attributes of ``cuda.core.Kernel`` by which it is known."""

    num_arguments, arguments_info, occupancy = 3, (), None


def test_kernel_of_cuda_core(tmp_path):
    from cuda.core import LaunchConfig

    x, y, z = np.arange(32, dtype=np.float32), np.ones(32, np.float32), np.zeros(32, np.float32)
    tuned = placewise.tune(
        CoreKernel(), "add", source=ADD, machine="A100", cache=tmp_path, patience=0.0
    )
    tuned(None, LaunchConfig(grid=1, block=32), x, y, z)
    np.testing.assert_array_equal(z, x + 1)
    assert tuned.report().launches == 1


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(CaseError, match="name is missing"):
        placewise.tune(ADD, machine="A100")
    with pytest.raises(CaseError, match="does not hold its source"):
        placewise.tune(CoreKernel(), "add", machine="A100")
    with pytest.raises(CaseError, match="this int is not a kernel"):
        placewise.tune(7, machine="A100")
    with pytest.raises(CaseError, match="PTX is not tuned"):
        placewise.tune(".version 8.0\n.target sm_80\n", "f", machine="A100")
    x = np.zeros(32, np.float32)
    with pytest.raises(CaseError, match="needs a machine"):
        placewise.tune(ADD, "add")(1, 32, (x, x.copy(), x.copy()))
    tuned = placewise.tune(ADD, "add", machine="A100", cache=tmp_path)
    with pytest.raises(CaseError, match="neither an array nor a number"):
        tuned(1, 32, (x, "x", x))
    scale = "__global__ void scale(float *x, float a) { x[threadIdx.x] *= a; }"
    with pytest.raises(CaseError, match="argument 2: a Python float does not fit a parameter"):
        placewise.tune(scale, "scale", machine="A100", cache=tmp_path)(1, 32, (x, 1.5))
    with pytest.raises(CaseError, match="not contiguous"):
        tuned(1, 32, (x, x.copy(), np.zeros(64, np.float32)[::2]))
    with pytest.raises(CaseError, match="grid and block"):
        placewise.tune(gather, machine="A100")(x, x, x)


@pytest.mark.slow
def test_a_profile_function_stands_in_for_the_traced_run(tmp_path, assignment):
    asked = []

    def record(grid, block, args):
        label, n = args[2], args[3]
        asked.append((grid, block))
        with pytest.raises(ValueError, match="read-only"):
            label[:] = 0
        threads = np.arange(int(n))
        return {
            "thread": threads, "array": np.full(len(threads), 2), "element": threads,
            "write": np.ones(len(threads), np.bool_),
        }  # fmt: skip

    tuned = tune_assign(tmp_path, profile=record, patience=float("inf"))
    for _ in range(2):
        tuned(*assignment.launch)
    assert len(asked) == 1
    assert "failed" not in only(tuned).why
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    # The same accesses find the choice on disk; other ones do not.
    again = tune_assign(tmp_path, profile=record)
    again(*assignment.launch)
    assert only(again).from_cache


def test_a_profile_function_that_fails_leaves_the_original(tmp_path, assignment):
    tuned = tune_assign(tmp_path, profile=lambda *_: {"thread": [0]})
    with pytest.warns(UserWarning, match="no column 'array'; the original runs"):
        tuned(*assignment.launch)
    tuned(*assignment.launch)
    np.testing.assert_array_equal(assignment.label, assignment.truth())
    assert "no column 'array'" in only(tuned).why
