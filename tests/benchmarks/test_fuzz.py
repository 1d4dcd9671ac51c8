"""The fuzzer's inputs come out the same each time, and its judgement of an end is right."""

import pytest

from benchmarks.fuzz.examples import KERNEL, SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import KINDS, HostileInput, Surroundings
from benchmarks.fuzz.judge import judge
from benchmarks.fuzz.play import GENERATORS, made, schedule
from placewise.cases import load_case


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_depends_on_its_seed_kind_and_number_alone(kind):
    drawn = [made(1, kind, number) for number in range(15)]
    assert drawn == [made(1, kind, number) for number in range(15)]
    assert drawn != [made(2, kind, number) for number in range(15)]
    assert {one.kind for one in drawn} == {kind}


def test_every_kind_has_its_share_of_the_inputs():
    inputs = schedule(2000, KINDS)
    assert len(inputs) == len(set(inputs)) == 2000
    assert {kind for kind, _ in inputs} == set(KINDS) == set(GENERATORS)
    assert {kind for kind, _ in schedule(10, ["ptx"])} == {"ptx"}


def test_the_inputs_start_from_a_valid_case(tmp_path):
    (tmp_path / "case.toml").write_text(toml(SMALL_CASE))
    (tmp_path / "kernel.cu").write_text(KERNEL)
    assert load_case(tmp_path / "case.toml").launch.grid == (5, 1, 1)


END = {
    "status": 2,
    "hung": False,
    "seconds": 1.0,
    "answered_s": 1.0,
    "peak_bytes": 0,
    "left": False,
}
ONE_ERROR = "compile …\nerror: case.toml: no\n"
TRACEBACK = "Traceback (most recent call last):\n  File ...\nIndexError\n"
OUTCOMES = {
    "one error": (END, "", ONE_ERROR, "clean error"),
    "two errors": (END, "", ONE_ERROR * 2, "unclear"),
    "no word": (END, "", "", "unclear"),
    "traceback": ({**END, "status": 1}, "", TRACEBACK, "traceback"),
    "internal": (END, "", "error: IndexError; please report\n", "internal error"),
    "signal": ({**END, "status": -11}, "", "", "crash"),
    "hang": ({**END, "hung": True, "status": -9}, "", "", "hang"),
    "peak": ({**END, "peak_bytes": 5 * 2**30}, "", ONE_ERROR, "peak"),
    "helpers": ({**END, "left": True}, "", ONE_ERROR, "helpers left"),
    "success": ({**END, "status": 0}, '{"a": 1}', "", "accepted"),
    "error but success": ({**END, "status": 0}, "{}", ONE_ERROR, "unclear"),
    "no JSON": ({**END, "status": 0}, "{", "", "bad output"),
    "infinity": ({**END, "status": 0}, '{"a": Infinity}', "", "bad output"),
}


def judged(folder, made, end, stdout, stderr):
    (folder / "work").mkdir()
    (folder / "stdout0").write_text(stdout)
    (folder / "stderr0").write_text(stderr)
    return judge(made, end, folder, 0).outcome


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes(tmp_path, name):
    end, stdout, stderr, expected = OUTCOMES[name]
    hostile = HostileInput("case", "", ("counters", "case.toml", "--json"), {})
    assert judged(tmp_path, hostile, end, stdout, stderr) == expected


def test_a_failure_leaves_no_file(tmp_path):
    hostile = HostileInput("case", "", ("run", "case.toml"), {"case.toml": b""})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "case.toml").touch()
    (tmp_path / "stderr0").write_text(ONE_ERROR)
    assert judge(hostile, END, tmp_path, 0).outcome == "clean error"
    (tmp_path / "work" / "out.npz.part").touch()
    assert judge(hostile, END, tmp_path, 0).outcome == "partial files"


def test_an_interrupt_is_answered_in_time_and_by_a_word(tmp_path):
    around = Surroundings(fresh=True, interrupt_s=0.1)
    hostile = HostileInput("surroundings", "", ("run", "case.toml"), {}, around)
    assert judged(tmp_path, hostile, {**END, "status": 130}, "", "interrupted\n") == "clean error"
    late = {**END, "status": 130, "answered_s": 11.0}
    assert judge(hostile, late, tmp_path, 0).outcome == "hang"
    own = 'Traceback (most recent call last):\n  File "/x/placewise/a.py"\nKeyboardInterrupt\n'
    (tmp_path / "stderr0").write_text(own)
    assert judge(hostile, END, tmp_path, 0).outcome == "traceback"
