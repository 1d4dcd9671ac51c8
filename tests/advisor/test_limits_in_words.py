"""What limits a kernel, in words: from predictions made by hand."""

import pytest

from placewise.advisor.advice import Option
from placewise.advisor.explain.limits_in_words import why_in_words
from placewise.advisor.forms.timing import Timed
from placewise.model import SAME, PathTime, Prediction
from placewise.space import Placement


def prediction(total, *parts):
    return Prediction("hand", total, tuple(parts), (total, total), True, 1000.0)


def option(now, then=None):
    """The present form where ``then`` is None, else a form beside it."""
    form = now if then is None else then
    return Option(Placement.of({}), form, SAME, None, timed=Timed(form), beside=Timed(now))


NOW = prediction(
    2000.0,
    PathTime("DRAM bandwidth", 1500.0, lines=(("/src/k.cu:7", 900.0), ("/src/k.cu:3", 10.0))),
    PathTime("issue", 800.0),
)


def test_the_present_form_says_what_limits_it_and_where():
    said = why_in_words(None, option(NOW))
    assert "DRAM bandwidth limits" in said
    assert "1.5 k of 2 k cycles" in said
    assert "line 7 of k.cu" in said


def test_a_part_that_takes_less_than_most_of_the_time_is_no_limit():
    said = why_in_words(None, option(prediction(2000.0, PathTime("issue", 900.0))))
    assert said == (
        "The issue of instructions takes most, 900 of 2 k cycles; nothing is used to capacity."
    )


def test_a_move_says_what_it_leaves_of_the_limit():
    then = prediction(1000.0, PathTime("DRAM bandwidth", 900.0), PathTime("issue", 800.0))
    said = why_in_words(option(NOW, then), option(NOW))
    assert "leaves it 900 of 1 k" in said
    assert "then" not in said


@pytest.mark.parametrize("left", [(PathTime("DRAM bandwidth", 100.0),), ()])
def test_a_move_that_changes_the_limit_names_the_new_one(left):
    then = prediction(1000.0, PathTime("issue", 950.0), *left)
    said = why_in_words(option(NOW, then), option(NOW))
    assert "then the issue of instructions limits, at 950" in said
    assert f"leaves it {100 if left else 0} of" in said


def test_without_predicted_times_data_paths_are_what_limits():
    untimed = Timed(None, "no machine code")
    present = Option(
        Placement.of({}), prediction(9.0, PathTime("global", 9.0)), SAME, None, timed=untimed
    )
    moved = Option(
        Placement.of({}), prediction(4.0, PathTime("texture", 4.0), PathTime("global", 3.0)),
        SAME, None, timed=untimed, beside=untimed,
    )  # fmt: skip
    assert "global path takes longest" in why_in_words(None, present)
    said = why_in_words(moved, present)
    assert "leaves it 3. The texture path takes longest then, 4" in said


def test_a_kernel_without_accesses_has_no_limit():
    assert why_in_words(None, Option(Placement.of({}), prediction(0.0), SAME, None)) == ""


def test_what_limits_is_named_as_in_a_sentence():
    atomics = prediction(900.0, PathTime("atomics in one line", 800.0))
    then = prediction(100.0, PathTime("latency", 90.0), PathTime("atomics in one line", 20.0))
    assert why_in_words(option(atomics, then), option(atomics)) == (
        "Atomics in one line limit the kernel: they alone take 800 of 900 cycles. The move leaves "
        "them 20 of 100; then latency limits, at 90."
    )
    assert why_in_words(None, option(then)).startswith("Latency limits the kernel: it alone takes")
