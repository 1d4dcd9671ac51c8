"""Profiles of accesses that a user recorded, and launches that stand in for larger ones."""

import numpy as np
import pytest

import placewise
from placewise import load_case, make_case
from placewise.advisor.prepare import Profiling, prepare
from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.given_accesses import GivenAccesses, read_accesses
from placewise.machine import load_machine
from placewise.memory.reuse.distance_shares import profile_counts

K20C = load_machine("K20c")
BLOCK = 128
SOURCE = """
__global__ void gather(const float *x, const int *at, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 4; k++)
        sum += x[at[k * n + i]];
    y[i] = sum;
}
"""


def _launch(n, seed=0):
    at = np.random.default_rng(seed).integers(0, n, (4, n), np.int32)
    return np.ones(n, np.float32), at, np.zeros(n, np.float32), np.int32(n)


def _case(n, source=SOURCE):
    return make_case("gather", source, list(_launch(n)), block=BLOCK, problem=n, name="gather")


def record(grid, block, args):
    """What a user's profiling function would be: the kernel's accesses, thread by thread."""
    _, at, _, n = args
    at = at.reshape(4, -1)
    threads = np.arange(min(int(n), grid[0] * block[0]))
    thread, array, element, write = [], [], [], []
    for i in threads.tolist():
        for k in range(4):
            thread += [i, i]
            array += [1, 0]
            element += [k * int(n) + i, int(at[k, i])]
        thread.append(i)
        array.append(2)
        element.append(i)
        write += [False] * 8 + [True]
    return {"thread": thread, "array": array, "element": element, "write": write}


def given_for(n, **changes):
    columns = record((-(-n // BLOCK), 1, 1), (BLOCK, 1, 1), _launch(n))
    return GivenAccesses.of({**columns, **changes}, "here")


def with_profile(case, profile):
    from dataclasses import replace

    return replace(case, profile=profile)


@pytest.mark.parametrize("n", [1024, 1000])
def test_recorded_accesses_give_the_histograms_of_a_traced_run(n):
    traced = prepare(_case(n), K20C)
    found = prepare(with_profile(_case(n), given_for(n)), K20C)
    np.testing.assert_array_equal(profile_counts(found.profile), profile_counts(traced.profile))
    assert found.profile.requests == traced.profile.requests
    assert found.ran
    assert any("accesses of threads from here" in note for note in found.notes)
    np.testing.assert_array_equal(found.execution.output("y"), np.full(n, 4, np.float32))


def test_some_blocks_stand_for_all():
    n = 1024
    columns = record((8, 1, 1), (BLOCK, 1, 1), _launch(n))
    some = np.asarray(columns["thread"]) < 2 * BLOCK
    part = GivenAccesses.of({k: np.asarray(v)[some] for k, v in columns.items()}, "here")
    found = prepare(with_profile(_case(n), part), K20C).profile
    assert found.sampled_requests == 2 * BLOCK // 32 * 9
    assert found.requests == n // 32 * 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"array": np.full(9 * 256, "z")}, "no array 'z'"),
        ({"array": np.full(9 * 256, 7)}, "array 7 of access 0, but there are 4"),
        ({"element": np.full(9 * 256, 5000)}, "element 5000 of access 0, but there are 1024"),
        ({"thread": np.full(9 * 256, -1)}, "thread -1 of access 0, but there are 256"),
    ],
)
def test_accesses_that_the_launch_does_not_have_are_refused(changes, message):
    case = with_profile(_case(256), given_for(256, **changes))
    with pytest.raises(CaseError, match=message):
        prepare(case, K20C)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([1, 2], "no columns"),
        ({"thread": [0]}, "no column 'array'"),
        ({"thread": [0], "array": [0], "element": [0], "write": [0], "warp": [0]}, "'warp'"),
        ({"thread": [0], "array": [0], "element": [0, 1], "write": [0]}, "'element' has shape"),
        ({"thread": [0.5], "array": [0], "element": [0], "write": [0]}, "no whole numbers"),
        ({"thread": [], "array": [], "element": [], "write": []}, "no accesses"),
    ],
)
def test_columns_that_are_no_accesses_are_refused(columns, message):
    with pytest.raises(CaseError, match=message):
        GivenAccesses.of(columns, "here")


UNKNOWN = SOURCE.replace(
    "    float sum",
    """    int extra;
    asm volatile("vmad.s32.s32.s32 %0, %1, %1, %1;" : "=r"(extra) : "r"(n));
    if (extra == 7) return;
    float sum""",
)


def test_a_kernel_that_cannot_run_here_is_ranked_and_nothing_is_proven():
    with pytest.raises(UnsupportedError):
        placewise.advise(_case(1024, UNKNOWN), "K20c")
    advice = placewise.advise(with_profile(_case(1024, UNKNOWN), given_for(1024)), "K20c")
    assert advice.options
    assert advice.recommended is None
    assert all(option.verification is None for option in advice.options)
    assert any("nothing is written out or proven" in note for note in advice.notes)
    # As ranked from a traced run of the same kernel without the instruction.
    ranked = placewise.advise(_case(1024), "K20c", finalists=0)
    assert [o.placement for o in advice.options[:3]] == [o.placement for o in ranked.options[:3]]


CASE = """schema = 1
kernel = "gather"
code = '''{source}'''

[launch]
problem = [{n}]
block = [128]

[[arguments]]
name = "x"
fill = 1
dtype = "float32"
shape = [{n}]

[[arguments]]
name = "at"
integers = {{ low = 0, high = {n}, seed = 1 }}
dtype = "int32"
shape = [4, {n}]

[[arguments]]
name = "y"
fill = 0
dtype = "float32"
shape = [{n}]

[[arguments]]
name = "n"
value = {n}
dtype = "int32"
"""


def _write(folder, name, n, extra=""):
    path = folder / name
    text = CASE.format(source=SOURCE, n=n)
    path.write_text(text.replace("[launch]", extra + "[launch]", 1))
    return path


def test_a_smaller_launch_stands_in_for_a_larger_one(tmp_path):
    _write(tmp_path, "small.toml", 512)
    large = _write(tmp_path, "large.toml", 1 << 20, '[profile]\ncase = "small.toml"\n\n')
    found = prepare(load_case(large), K20C)
    small = prepare(load_case(tmp_path / "small.toml"), K20C)
    np.testing.assert_array_equal(profile_counts(found.profile), profile_counts(small.profile))
    # What fits where is asked of the larger launch: 4 MB are too much for constant memory.
    assert small.legality.reason("x", "constant") is None
    assert "64 KB" in found.legality.reason("x", "constant")
    advice = placewise.advise(large, "K20c")
    assert advice.recommended is None
    assert any("another launch of the kernel, 'small'" in note for note in advice.notes)


def test_a_case_file_names_recorded_accesses(tmp_path):
    given = given_for(512)
    columns = {k: getattr(given, k) for k in ("thread", "array", "element", "write")}
    np.savez(tmp_path / "seen.npz", **columns)
    path = _write(tmp_path, "case.toml", 512, '[profile]\naccesses = "seen.npz"\n\n')
    found = prepare(load_case(path), K20C)
    assert any("seen.npz" in note for note in found.notes)
    assert found.profile.requests == 512 // 32 * 9
    # An explicit kind of profile looks at the launch itself.
    assert not any(
        "seen.npz" in note
        for note in prepare(load_case(path), K20C, profiling=Profiling.ACTIVE).notes
    )
    assert read_accesses(tmp_path / "seen.npz").digest == given.digest


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ('[profile]\ncase = "case.toml"\n', "has a profile of its own"),
        ('[profile]\ncase = "a.toml"\naccesses = "b.npz"\n', "needs either case"),
        ('[profile]\naccesses = "none.npz"\n', "no such file"),
        ('[profile]\naccesses = "case.toml"\n', "not a readable NumPy archive"),
    ],
)
def test_bad_profiles_are_located(tmp_path, profile, message):
    path = _write(tmp_path, "case.toml", 512, profile + "\n")
    with pytest.raises(CaseError, match=message) as raised:
        load_case(path)
    assert "case.toml" in raised.value.where or "none.npz" in raised.value.where


def test_another_kernels_launch_does_not_stand_in():
    other = make_case(
        "gather", SOURCE.replace("float *x", "float *z").replace("x[at", "z[at"),
        list(_launch(256)), block=BLOCK, problem=256, name="other",
    )  # fmt: skip
    with pytest.raises(CaseError, match="'other' launches gather on z, at, y"):
        prepare(with_profile(_case(1024), other), K20C)
