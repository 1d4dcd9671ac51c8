"""Pairs of Table IV: predicted from the sample's code alone, with the reason where they are not."""

import pytest

from placewise.cases.papers import HUANG_LI
from placewise.errors import CaseError
from placewise.reproduce.placement_tests import placement_tests


@pytest.fixture(scope="module")
def on_k80():
    return placement_tests((), ("stencil2d", "reduction", "spmv"))


def rows(found, title):
    return next(table.rows for table in found.tables if table.title.startswith(title))


@pytest.mark.slow
def test_every_pair_of_a_case_has_a_ratio_or_a_reason(on_k80):
    pairs = rows(on_k80, "Table IV")
    wanted = [t for t in HUANG_LI if t.case in ("stencil2d", "reduction", "spmv")]
    assert len(pairs) == len(wanted) == on_k80.figures["K80, pairs"]
    for row in pairs:
        assert (row[4] is None) == (row[7] is not None)
        # There is no machine code of a K80 that the timeline could read.
        assert row[6] is None
    assert {row[3] for row in pairs} == {"training", "evaluation"}


def test_divergent_constant_is_slow_without_the_queue(on_k80):
    """Lanes of spmv gather different elements of x: from constant memory one after another."""
    gathered = next(row for row in rows(on_k80, "Table IV") if "x T→C" in row[2])
    assert gathered[5] > 1.2


def test_arrivals_stand_beside_the_printed_ones(on_k80):
    (row,) = rows(on_k80, "Fig. 4")
    assert row[:3] == ("spmv", 1.11, 0.19)
    assert row[3] == pytest.approx(on_k80.figures["K80, c_a, spmv"], abs=0.01)
    # As many banks as the K80's file tells apart are asked.
    assert row[5] == 32


def test_timeline_stands_beside_where_machine_code_is_read():
    found = placement_tests(("A4000",), ("stencil2d",))
    ((*_, ratio, _, timeline, reason),) = rows(found, "Table IV")
    assert reason is None
    assert 0.5 < timeline < 2.0
    apart = found.figures["A4000, whole model against the timeline, mean, %"]
    assert apart == pytest.approx(100 * abs(ratio / timeline - 1), abs=0.2)


def test_case_that_is_not_in_the_table_is_refused():
    with pytest.raises(CaseError, match="no case 'spvm'") as error:
        placement_tests((), ("spvm",))
    assert error.value.where == "--cases"
