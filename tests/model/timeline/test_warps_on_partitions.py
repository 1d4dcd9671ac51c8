"""Which partition of an SM each warp of a block runs on."""

import numpy as np
import pytest

from placewise.model.timeline.issues import NOT_RECORDED
from placewise.model.timeline.schedule import Row
from placewise.model.timeline.warps import Pace, run

PACE = Pace(4, 1.0, 0.0, 200.0, 400.0, 5, 1.0, 10.0, 0.0)
MATH = Row(0, 2.0, 0, 0.0, 0.0, 0.0, 1.0, -1, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
LONG = 400
"""Instructions of the first warp of a block; each occupies its partition's pipe for two cycles."""


def cycles(*, warps, blocks, resident, sms=1):
    """Of ``blocks`` blocks, in which the first warp computes and the others end at once."""
    path = np.zeros(LONG + 1, np.int64)
    each = np.array([[0] + [1] * (warps - 1)])
    return run(
        np.array([MATH], np.float64), path, np.array([0, LONG]), np.array([LONG, 1]), each,
        resident, np.zeros(blocks, np.int64), PACE, sms, NOT_RECORDED,
    )  # fmt: skip


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("sms", [1, 4])
def test_busy_warps_of_several_blocks_are_on_several_partitions(warps, sms):
    alone = cycles(warps=warps, blocks=1, resident=1)
    assert alone == pytest.approx(2 * LONG, rel=0.02)
    four = cycles(warps=warps, blocks=4 * sms, resident=4, sms=sms)
    assert four == pytest.approx(alone, rel=0.05)
    # Eight blocks have two such warps for each partition.
    eight = cycles(warps=warps, blocks=8 * sms, resident=8, sms=sms)
    assert eight == pytest.approx(2 * alone, rel=0.05)


def test_blocks_need_not_fill_all_partitions():
    # With every block's warps in the same order, four of eight such warps would share a partition.
    alone = cycles(warps=6, blocks=1, resident=1)
    assert cycles(warps=6, blocks=8, resident=8) < 3.1 * alone


def test_blocks_of_one_warp_are_on_several_partitions():
    alone = cycles(warps=1, blocks=1, resident=1)
    assert cycles(warps=1, blocks=4, resident=4) == pytest.approx(alone, rel=0.05)
