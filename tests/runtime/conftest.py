import pytest
from tuned_kernels import ASSIGN, Assignment

import placewise


@pytest.fixture
def assignment():
    return Assignment()


@pytest.fixture(scope="session")
def chosen_before(tmp_path_factory):
    """A cache folder in which the choice for :class:`Assignment` on an A100 is."""
    folder = tmp_path_factory.mktemp("tuned")
    tuned = placewise.tune(ASSIGN, "assign", machine="A100", cache=folder, patience=float("inf"))
    tuned(*Assignment().launch)
    (one,) = tuned.report().classes
    assert one.moves
    return folder
