"""Advice from counters that were recorded of the present form."""

import csv

import pytest

from placewise.advisor import advise
from placewise.errors import CaseError

HEADER = ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")


@pytest.fixture
def recorded(tmp_path):
    def write(*rows):
        path = tmp_path / "profile.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([HEADER, *rows])
        return path

    return write


def test_time_and_counters_of_a_profile_are_taken(gather_case, recorded):
    profile = recorded(
        ("0", "gather", "gpu__time_duration.sum", "usecond", "20"),
        ("0", "gather", "smsp__inst_executed.sum", "inst", "10,000,000"),
    )
    found = advise(gather_case, "A4000", profile=profile, finalists=0)
    assert found.present.predicted_ms == pytest.approx(0.02)
    assert any("profile.csv: smsp__inst_executed.sum × " in note for note in found.notes)


def test_a_profile_without_such_counters_says_so(gather_case, recorded):
    profile = recorded(("0", "gather", "sm__cycles_active.avg", "cycle", "1000"))
    found = advise(gather_case, "A4000", profile=profile, finalists=0)
    assert found.present.measured_ms is None
    assert any("no counter that the times rest on" in note for note in found.notes)


def test_of_several_launches_one_must_be_chosen(gather_case, recorded):
    rows = [(str(n), "gather", "smsp__inst_executed.sum", "inst", "200000") for n in range(2)]
    with pytest.raises(CaseError, match="2 launches of 'gather'"):
        advise(gather_case, "A4000", profile=recorded(*rows), finalists=0)
    chosen = advise(gather_case, "A4000", profile=recorded(*rows), row=1, finalists=0)
    assert chosen.present.ratio == 1.0
