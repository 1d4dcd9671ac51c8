"""Constants that are given fewer values than they hold, as a smaller ``cudaMemcpyToSymbol``."""

import numpy as np
import pytest

from placewise import execute, make_case, predict_counters, predict_time
from placewise.errors import CaseError

SOURCE = """
__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__constant__ float unset[4];
extern "C" __global__ void weighted(float *out) {
    out[threadIdx.x] = weights[threadIdx.x] + 10.0f * unset[threadIdx.x];
}"""


def case(weights, unset):
    given = {"weights": np.array(weights, np.float32), "unset": np.array(unset, np.float32)}
    arguments = [np.zeros(4, np.float32)]
    return make_case("weighted", SOURCE, arguments, block=4, grid=1, constants=given)


def test_the_rest_stays_as_the_source_initialises_it():
    run = execute(case([7, 8], [1, 1, 1]))
    assert run.output("out").tolist() == [17, 18, 13, 4]
    assert run.notes == (
        "constant 'weights' is given 8 of its 16 bytes: the others stay as the source initialises "
        "them",
        "constant 'unset' is given 12 of its 16 bytes: the others stay as the source initialises "
        "them",
    )


def test_predictions_say_so_too_and_full_constants_need_no_note():
    partly = case([7, 8], [1, 1, 1, 1])
    for notes in (
        predict_counters(partly, "A100").notes,
        predict_time(partly, "A100").prediction.notes,
    ):
        assert sum("'weights' is given 8 of its 16 bytes" in note for note in notes) == 1
        assert not any("'unset'" in note for note in notes)
    assert execute(case([7, 8, 9, 9], [1, 1, 1, 1])).notes == ()


def test_more_than_a_constant_holds_is_refused():
    with pytest.raises(CaseError, match=r"constant 'unset'.*20 bytes, but the variable has 16"):
        execute(case([7], [1] * 5))
