"""Hu and Liu's tables against arithmetic on the printed cells."""

import pytest

from placewise.reproduce.hu_liu_tables import CFD, MISPRINTS, STENCIL, cfd_time, hu_liu_tables


def test_printed_errors_agree_with_printed_times_but_for_the_misprints():
    """|measured − predicted| over the smaller or the larger of the two is the printed error."""
    for launch in CFD:
        if (launch.kernel, launch.size) in MISPRINTS:
            continue
        measured, predicted = launch.printed_measured, launch.printed_predicted
        difference = abs(measured - predicted)
        errors = [100 * difference / measured, 100 * difference / predicted]
        assert any(e == pytest.approx(launch.printed_error, abs=0.11) for e in errors)
    for _, measured, predicted, error in STENCIL:
        assert 100 * (measured - predicted) / measured == pytest.approx(error, abs=0.11)


def test_predictions_of_cfd_follow_from_requests_and_warps():
    """5 requests of 3,033 warps (97,046 elements) at 1.3325 ns are 20.2 µs."""
    assert cfd_time(CFD[0], 1.3325) == pytest.approx(5 * 3033 * 1.3325e-6)
    others = [c for c in CFD if c.printed_predicted < 0.2 and c.kernel != CFD[2].kernel]
    for launch in others:
        assert cfd_time(launch, 1.3325) == pytest.approx(launch.printed_predicted, rel=0.002)


def test_figures():
    found = hu_liu_tables()
    assert found.figures["read cycle, ns"] == pytest.approx(1.294, abs=0.0005)
    assert [t.title.split(":")[0] for t in found.tables] == [
        "Table I", "Table II", "Table III", "Table IV", "Table V",
    ]  # fmt: skip
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert any("not printed" in m for m in found.missing)
