"""Hu and Liu's tables against arithmetic on the printed cells."""

import pytest

from placewise.reproduce.hu_liu.hu_liu_tables import (
    CFD,
    FAN,
    MISPRINTS,
    STENCIL,
    cfd_time,
    fan1_time,
    hu_liu_tables,
    implied_warps,
)


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
        "Table I", "Fig. 4", "Table II", "Fig. 5", "Table III", "Table IV", "Table V",
    ]  # fmt: skip
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert any("not printed" in m for m in found.missing)


def test_fan1_is_two_requests_of_a_thousand_threads():
    """2 · 1,000 transactions of 1.294 ns are 2,588 ns, the printed time."""
    assert fan1_time(1.294) == pytest.approx(2 * 1000 * 1.294e-6)
    assert fan1_time(1.294) == pytest.approx(FAN[0].printed_predicted, abs=5e-7)
    assert implied_warps(FAN[0]) == pytest.approx(1000 / 32, rel=1e-3)


def test_fan2_cannot_be_a_mean_over_its_steps():
    """Neither the threads that work at a step, in the mean over all steps, nor all of them make as
    few warps as the printed time implies."""
    for unknowns in (1000, 1024):
        working = sum(k * (k + 1) for k in range(1, unknowns)) / (unknowns - 1)
        assert working / 32 > 5 * implied_warps(FAN[1])


def test_times_that_are_printed_twice_stand_in_fig_5():
    fig_5 = next(t for t in hu_liu_tables().tables if t.title.startswith("Fig. 5"))
    by_stride = {row[0]: row for row in fig_5.rows}
    # 100 requests of 512 warps, 15 transactions each of 1.3325 ns, at 1,150 MHz.
    assert by_stride[15][4:6] == (1_203_170, round(100 * 512 * 15 * 1.3325 * 1.15))
    assert by_stride[10][6:8] == (1_584_332, round(100 * 1024 * 10 * 1.3325 * 1.15))
