"""Figs. 7 to 14 and Table 5 of Chen et al. 2017: tables that are whole, paper beside program."""

import pytest

from placewise.errors import CaseError
from placewise.reproduce import porple_speedups


@pytest.mark.slow
def test_one_kernel_on_two_machines():
    steps = []
    found = porple_speedups(["scan"], ["K20c", "A100"], 3, lambda what, *_: steps.append(what))
    titles = [table.title for table in found.tables]
    assert titles == [
        "Mean gains (Figs. 7 to 10, 12, 13)",
        "Predicted gain: regular kernels on K20c",
        "Predicted gain: regular kernels on A100",
    ]
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert found.tables[0].rows[0][:3] == ("K20c, regular kernels", "paper", 1.22)
    assert steps == ["scan on K20c", "scan on A100"]
    ((_, _, _, _, seen, _),) = found.tables[2].rows
    assert seen.startswith("3 of ")
    assert found.figures["K20c, regular kernels: optima of all legal placements"] == 1
    assert found.figures["A100, regular kernels: optima of all legal placements"] == 0


@pytest.mark.slow
def test_a_kernel_that_does_not_fit_a_machine_costs_no_other():
    found = porple_speedups(["hourglass-force", "triad"], ["C1060"], 3)
    irregular = next(t for t in found.tables if t.title.endswith("irregular kernels on C1060"))
    assert "registers" in irregular.rows[0][-1]
    assert "C1060: PORPLE" in found.verdict
    assert "over 1 kernels" in found.verdict


@pytest.mark.slow
def test_overheads_stand_beside_table_5():
    found = porple_speedups(["transpose"], ["A100"], 3)
    table_5 = next(t for t in found.tables if t.title.startswith("Table 5"))
    launches = next(t for t in found.tables if t.title.startswith("Fig. 14"))
    assert table_5.rows[0][:2] == ("transpose", "program")
    assert [row[1] for row in launches.rows] == [1496, 500, 250, 50]
    # The fewer the launches, the less of the gain is left.
    assert sorted((row[4] for row in launches.rows), reverse=True) == [r[4] for r in launches.rows]


def test_unknown_cases_are_named():
    with pytest.raises(CaseError, match="no bundled case is called 'spmvv'"):
        porple_speedups(["spmvv"])
