import pytest

from placewise.errors import CaseError
from placewise.kernel.launch import Launch


def test_a_launch_counts_its_blocks_threads_and_warps():
    launch = Launch(grid=(5, 3, 2), block=(33, 2, 1))
    assert (launch.blocks, launch.threads_per_block, launch.warps_per_block) == (30, 66, 3)


@pytest.mark.parametrize(("grid", "block"), [((0, 1, 1), (1, 1, 1)), ((1, 1, 1), (1, -1, 1))])
def test_empty_launches_are_refused(grid, block):
    with pytest.raises(CaseError):
        Launch(grid=grid, block=block)
