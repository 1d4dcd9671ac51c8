"""Programs of several launches, from Python."""

import numpy as np
import pytest

from placewise import KernelLaunch, make_program
from placewise.errors import CaseError
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.programs.program import with_arrays

SOURCE = """__global__ void one(const float *a, float *b, int n) {
    b[threadIdx.x] = a[threadIdx.x] + n;
}
__global__ void two(float *b, float *c) { c[threadIdx.x] = 2 * b[threadIdx.x]; }"""
VALUES = {
    "first": np.arange(32, dtype=np.float32),
    "second": np.zeros(32, np.float32),
    "third": np.zeros(32, np.float32),
    "n": np.int32(3),
}


def launches(**changes):
    one = {"kernel": "one", "arguments": ["first", "second", "n"], "grid": 1, "block": 32}
    two = {"kernel": "two", "arguments": {"c": "third", "b": "second"}, "grid": 1, "block": 32}
    return [KernelLaunch(**{**one, **changes}), KernelLaunch(**two)]


def test_launches_share_the_arrays_that_they_name():
    program = make_program(SOURCE, VALUES, launches(times=3), rounds=2)
    one, two = program.launches
    assert (one.times, two.times, program.rounds) == (3, 1, 2)
    assert one.arrays_of(named_case(one.case)) == {"a": "first", "b": "second"}
    assert two.arrays_of(named_case(two.case)) == {"b": "second", "c": "third"}
    arrays = {a.name: a.data for a in named_case(two.case).inputs.arrays}
    assert np.shares_memory(arrays["b"], VALUES["second"])


def test_a_scalar_may_stand_for_a_name():
    program = make_program(SOURCE, VALUES, launches(arguments=["first", "second", np.int32(7)]))
    assert named_case(program.launches[0].case).inputs.arguments[2].value == 7


def test_arrays_are_put_in_as_a_launch_left_them():
    two = make_program(SOURCE, VALUES, launches()).launches[1]
    case = named_case(two.case)
    now = with_arrays(case, two.arrays_of(case), {"second": np.full(32, 5, np.float32)})
    assert {a.name: a.data.tolist()[0] for a in now.inputs.arrays} == {"b": 5.0, "c": 0.0}


@pytest.mark.parametrize(
    ("changes", "message", "where"),
    [
        ({"arguments": ["first", "secnd", "n"]}, "no value 'secnd'", "launch 1 (one): argument 2"),
        ({"arguments": {"a": "x"}}, "no value 'x'", "launch 1 (one): argument 'a'"),
        ({"arguments": [VALUES["first"]]}, "name of a value", "launch 1 (one): argument 1"),
        ({"grid": None}, "either the grid or the problem", "launch 1 (one): launch"),
        ({"times": 0}, "0 is not a whole number", "launch 1: times"),
    ],
)
def test_a_mistake_is_one_located_error(changes, message, where):
    with pytest.raises(CaseError, match=message.replace("(", r"\(")) as caught:
        make_program(SOURCE, VALUES, launches(**changes))
    assert caught.value.where == where


def test_a_program_has_launches():
    with pytest.raises(CaseError, match="at least one launch"):
        make_program(SOURCE, VALUES, [])
