"""Which tasks a plan stands for, and what their keys depend on."""

import itertools

import pytest
from swept import plan_of, written_case

from placewise.errors import CaseError, MachineError
from placewise.sweep import read_plan, tasks_of
from placewise.sweep.plan import shard_of


@pytest.fixture
def case(tmp_path):
    return written_case(tmp_path)


def test_every_combination_is_one_task(case):
    tasks = tasks_of(plan_of(case))
    found = {(t.machine, *dict(t.sizes).values(), *dict(t.parameters).values()) for t in tasks}
    wanted = itertools.product(["A100", "H100"], [1024, 2048, 4096], [32, 64, 128, 256], [1, 2])
    assert found == set(wanted)
    assert len(tasks) == len({t.key for t in tasks}) == 48


def test_conditions_leave_out_combinations(case):
    tasks = tasks_of(plan_of(case, conditions=["block * unroll <= 128", "n >= 2048"]))
    values = [{**dict(t.sizes), **dict(t.parameters)} for t in tasks]
    assert all(v["block"] * v["unroll"] <= 128 and v["n"] >= 2048 for v in values)
    assert len(values) == 2 * 2 * (3 + 2)


def test_a_plan_is_read_relative_to_its_file(case, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'schema = 1\nmachines = ["A100"]\n[[kernels]]\ncase = "scale.toml"\n'
        "sizes.n = [64, 128]\nparameters.block = [32]\n[[kernels]]\ncase = 'spmv'\n"
    )
    tasks = tasks_of(read_plan(file))
    assert [t.case for t in tasks] == [str(case), str(case), "spmv"]
    assert [dict(t.sizes) for t in tasks] == [{"n": 64}, {"n": 128}, {}]


@pytest.mark.parametrize("file", ["scale.toml", "scale.cu", "factor.h"])
def test_a_changed_file_of_the_case_changes_every_key(case, tmp_path, file):
    before = {t.key for t in tasks_of(plan_of(case))}
    assert {t.key for t in tasks_of(plan_of(case))} == before
    with (tmp_path / file).open("a") as text:
        text.write("\n")
    assert not before & {t.key for t in tasks_of(plan_of(case))}


def test_a_changed_machine_or_compiler_changes_every_key(case, tmp_path):
    plan = plan_of(case)
    before = {t.key for t in tasks_of(plan)}
    own = tmp_path / "own.msl"
    own.write_text("machine A100 like A100;\nclock_mhz = 1000;\n")
    changed = plan.model_copy(update={"nvrtc": "12.9"})
    assert not before & {t.key for t in tasks_of(changed)}


@pytest.mark.parametrize("parts", [1, 2, 5, 7, 48, 60])
def test_parts_hold_every_task_once(case, parts):
    tasks = tasks_of(plan_of(case))
    shares = [shard_of(tasks, (n, parts)) for n in range(1, parts + 1)]
    assert [t for share in shares for t in share] == list(tasks)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sizes": {"m": [1]}}, "no 'm' in its [sizes]"),
        ({"parameters": {"blok": [1]}}, "did you mean 'block'"),
        ({"conditions": ["block <"]}, "is no condition"),
        ({"conditions": ["blocks > 2"]}, "no parameter 'blocks'"),
        ({"conditions": ["n > 100000"]}, "no combination"),
        ({"case": "spmw"}, "no such case"),
        ({"case": "missing.toml"}, "missing.toml"),
        ({"sizes": {"n": list(range(1001))}, "parameters": {"block": list(range(1000))}}, "many"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(case, changed, words):
    with pytest.raises(CaseError) as raised:
        tasks_of(plan_of(case, **changed))
    assert words in str(raised.value)


def test_an_unknown_machine_is_refused(case):
    with pytest.raises(MachineError, match="A1000"):
        tasks_of(plan_of(case).model_copy(update={"machines": ["A1000"]}))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("machines = []\nkernels = []", "machines"),
        ('machines = ["A100"]\n[[kernels]]\ncase = "a"\nsize.n = [1]', "kernels.1.size"),
        ('machines = ["A100"]\n[[kernels]]\ncase = "a"\nsizes.n = [-1]', "kernels.1.sizes.n.1"),
        ('machines = ["A100"]\n[[kernels]]\ncase = "a"\nsizes.n = []', "kernels.1.sizes.n"),
        ("machines = [", "not a readable TOML file"),
    ],
)
def test_mistakes_in_a_plan_are_named(tmp_path, text, where):
    file = tmp_path / "study.toml"
    file.write_text("schema = 1\n" + text)
    with pytest.raises(CaseError) as raised:
        read_plan(file)
    assert str(file) in str(raised.value)
    assert where in str(raised.value)
