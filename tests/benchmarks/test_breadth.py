"""The judge of published measurements, on rows whose figures are known by hand."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.breadth.judge import (
    factors,
    of_intervals,
    of_times,
    rank_of_cases,
    scaled_error,
)
from benchmarks.breadth.measured import HERE, Predicted, read_measurements
from placewise.kernel.cases.case_file import read_case_family
from placewise.machine import load_machine

ROW = Predicted(
    "reduce", "reduce 1", "A100", "x", "kept", 100.0, 100.0, 90.0, 110.0, (0.9, 1.1), 50.0, False,
    (), (), 1.0,
)  # fmt: skip


def rows(*times, **fields):
    """Rows with (measured, predicted) times."""
    return [
        replace(ROW, kernel=f"reduce {at}", measured=m, predicted=p, **fields)
        for at, (m, p) in enumerate(times)
    ]


def test_a_factor_for_each_gpu_takes_out_what_is_common_to_it():
    found = [*rows((200, 100), (400, 200), (660, 300)), *rows((50, 100), (60, 100), machine="T4")]
    assert factors(found, lambda r: r.predicted) == pytest.approx({"A100": 2.0, "T4": 0.55})
    errors = scaled_error(found, lambda r: r.predicted)
    assert errors == pytest.approx([0.0, 0.0, 1 - 600 / 660, 0.1, 1 - 55 / 60])


def test_ranks_are_of_all_rows_of_a_case():
    found = rows((1, 1), (2, 3), (3, 2), (4, 4))
    assert rank_of_cases(found) == pytest.approx({"reduce": 0.8})
    assert rank_of_cases(found[:3]) == {}


def test_figures_say_what_holds():
    by_name = {
        f.figure: f for f in of_times("all", rows((100, 100), (100, 100), (100, 140)), asked=True)
    }
    assert by_name["all: median error, one factor a GPU"].value == 0.0
    assert by_name["all: within 25 %"].value == pytest.approx(2 / 3)
    assert not by_name["all: within 25 %"].holds
    assert by_name["all: misses beyond 30 %"].value == 1


def test_intervals_are_judged_by_the_other_cases():
    # The others are right to 10 %: a row without error lies in their band and its clocks, one twice
    # as long does not.
    others = [
        replace(row, case=case)
        for case in ("one", "two")
        for row in rows(*[(90 + at, 100) for at in range(21)])
    ]
    good = rows((100, 100), case="three", by_clock=(100.0, 110.0))
    bad = rows((200, 100), case="three", by_clock=(100.0, 110.0))
    with_good, with_bad = (of_intervals([*others, *third]) for third in (good, bad))
    assert [f.value for f in (with_good[1], with_bad[1])] == [1.0, 0.0]
    assert of_intervals(others) == of_intervals(others[:21]) == []


def test_the_table_names_cases_machines_and_parameters_that_exist():
    measurements = read_measurements()
    for name in {one.case for one in measurements}:
        family = read_case_family(HERE / "kernels" / f"{name}.toml")
        for one in measurements:
            if one.case == name:
                assert {parameter for parameter, _ in one.configuration} <= set(family.parameters)
    for machine in {one.machine for one in measurements}:
        assert load_machine(machine).name == machine
    assert len({(one.kernel, one.machine) for one in measurements}) == len(measurements)
    halves = Counter(one.half for one in measurements)
    assert set(halves) == {"first", "kept", "later"}
    kept = {one.kernel for one in measurements if one.half == "kept"}
    assert not kept & {one.kernel for one in measurements if one.half == "first"}
