"""Event selection by cosine similarity, on vectors worked out by hand."""

import json
import math

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.recorded.recorded_launch import MeasuredLaunch
from placewise.reproduce.event_selection import (
    across_kernels,
    cosine_similarity,
    event_selection,
    similarities,
)


def test_cosine():
    assert cosine_similarity(np.array([3.0, 4.0]), np.array([6.0, 8.0])) == pytest.approx(1.0)
    assert cosine_similarity(np.array([1.0, 0.0]), np.array([0.0, 5.0])) == 0.0
    assert cosine_similarity(np.array([3.0, 4.0]), np.array([4.0, 3.0])) == pytest.approx(0.96)
    assert cosine_similarity(np.zeros(2), np.ones(2)) == 0.0


def launch(time, **events):
    return MeasuredLaunch(
        "k", {"duration_us": time, **{f"a__{k}.sum": v for k, v in events.items()}}
    )


def test_events_that_follow_the_time_are_selected():
    found = similarities(
        [
            launch(3.0, same=30.0, other=4.0, flat=5.0, none=0.0),
            launch(4.0, same=40.0, other=3.0, flat=5.0, none=0.0),
        ],
        "here",
    )
    by_name = {s.event: s for s in found}
    assert [s.event for s in found] == ["a__same.sum", "a__flat.sum", "a__other.sum"]
    assert by_name["a__same.sum"].cosine == pytest.approx(1.0)
    assert by_name["a__other.sum"].cosine == pytest.approx(0.96)
    # Selected though it goes the other way: that is why the correlation stands beside it.
    assert by_name["a__other.sum"].selected
    assert by_name["a__other.sum"].correlation == pytest.approx(-1.0)
    assert math.isnan(by_name["a__flat.sum"].correlation)


def test_threshold_is_not_reached_by_equality():
    found = similarities([launch(1.0, x=0.0, y=1.0), launch(0.0, x=1.0, y=0.0)], "here")
    assert {s.event: s.selected for s in found} == {"a__x.sum": False, "a__y.sum": True}


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(CaseError, match="one launch alone"):
        similarities([launch(1.0, x=1.0)], "here")
    timeless = MeasuredLaunch("k", {"a__x.sum": 1.0})
    with pytest.raises(CaseError, match="launches without a time"):
        similarities([timeless, timeless], "here")


def test_from_a_file(tmp_path):
    path = tmp_path / "counters.csv"
    path.write_text("duration_us,smsp__inst_executed.sum,a__b.sum\n1,10,3\n2,20,1\n3,30,0\n")
    found = event_selection([path])
    assert found.figures["counters.csv: inst_issued"] == pytest.approx(1.0)
    assert found.figures["counters.csv: selected"] == 1
    assert "1 of 2 in counters.csv" in found.verdict
    json.dumps(found.tables[1].rows, allow_nan=False)
    assert "give recorded counters" in event_selection([]).verdict


def test_kernels_of_one_profile_are_told_apart(tmp_path):
    path = tmp_path / "profile.csv"
    time = "gpu__time_duration.sum"
    path.write_text(
        f"Kernel Name,{time},a__b.sum\n,nsecond,\nf,1000,1\ng,1000,5\nf,2000,2\ng,3000,5\n"
    )
    found = event_selection([path])
    assert found.figures["profile.csv, f: selected"] == 1
    assert found.figures["profile.csv, g: events"] == 1
    assert [t.title for t in found.tables[1:3]] == [
        "profile.csv, f: 2 recorded forms",
        "profile.csv, g: 2 recorded forms",
    ]


def test_events_across_kernels_are_dropped_and_merged():
    """The time's vector is at 45 degrees, ``same`` and its double at 30, ``apart`` at 60: within 20
    of the time (a cosine of 0.94), but 30 from each other. ``rare`` follows the time in two
    of three kernels, ``noise`` in none."""
    low, high = math.sin(math.radians(30)), math.cos(math.radians(30))

    def kernel(rare):
        return [
            launch(1.0, same=high, twice=2 * high, apart=low, noise=1.0, rare=rare[0]),
            launch(1.0, same=low, twice=2 * low, apart=high, noise=0.0, rare=rare[1]),
        ]

    kernels = {"a": kernel((1, 1)), "b": kernel((1, 1)), "c": kernel((0, 1))}
    groups = across_kernels(kernels)
    assert [g.events for g in groups] == [
        ("a__apart.sum",),
        ("a__same.sum", "a__twice.sum"),
    ]
    assert all(g.kernels == ("a", "b", "c") for g in groups)
    assert groups[0].cosine == pytest.approx(math.cos(math.radians(15)))
    # Of two kernels both must select an event.
    two = across_kernels({name: kernels[name] for name in ("a", "b")})
    assert any("a__rare.sum" in g.events for g in two)
