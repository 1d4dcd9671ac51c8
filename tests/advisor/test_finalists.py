"""Which options are proven and which is recommended, on options made by hand."""

from dataclasses import replace

import pytest

from placewise.advisor.advice import Option, Verification
from placewise.advisor.explain.gain import gain_in_words
from placewise.advisor.finalists import Demand, finalists, recommended, simpler_than_first
from placewise.machine import load_machine
from placewise.model import Prediction, Ratio
from placewise.space import Placement

MACHINE = load_machine("A100")
NOTHING = Prediction("path", 1.0, (), (1.0, 1.0), absolute=False)
PROVEN = Verification(True, "bit-identical", ("out",))


def option(ratio, faster=0.99, **moves):
    """An option that takes ``ratio`` of the present time; arrays are global but for ``moves``."""
    spaces = {"a": "global", "b": "global", "c": "global", "d": "global", **moves}
    judged = Ratio(ratio, 0.9 * ratio, 1.1 * ratio, ratio, ratio, faster, None)
    return Option(
        Placement(tuple(spaces.items())), NOTHING, judged, None, verification=PROVEN, rerun=judged
    )


PRESENT = option(1.0)


def moved(found):
    return found and {a: to for a, _, to in found.placement.moved(PRESENT.placement)}


@pytest.mark.parametrize("timed", [True, False])
def test_nobody_commits_four_arrays_in_three_memories_for_nothing(timed):
    many = option(0.800, a="readonly", b="texture", c="shared", d="texture")
    less = [option(0.805, a="texture"), option(0.81, a="readonly"), option(0.83, b="shared")]
    options = [many, *less]
    if not timed:
        options = [replace(o, rerun=None) for o in options]
    assert moved(recommended(options, PRESENT, MACHINE, Demand())) == {"a": "readonly"}


def test_the_smallest_edit_goes_from_loads_to_the_body():
    order = ["readonly", "constant", "texture", "shared"]
    for at, space in enumerate(order):
        options = [option(0.5, a=s) for s in reversed(order[at:])]
        assert moved(recommended(options, PRESENT, MACHINE, Demand())) == {"a": space}


def test_a_plain_load_goes_before_a_cache_hint_that_gains_as_much():
    options = [option(0.50, a="evict_last"), option(0.505, a="readonly")]
    assert moved(recommended(options, PRESENT, MACHINE, Demand())) == {"a": "readonly"}


def test_more_than_two_percent_is_worth_a_larger_edit():
    options = [option(0.80, a="shared"), option(0.83, a="readonly")]
    assert moved(recommended(options, PRESENT, MACHINE, Demand())) == {"a": "shared"}


def test_a_second_buffer_is_a_larger_edit():
    one = option(0.805, a="shared")
    one = replace(one, placement=replace(one.placement, chunk=16))
    two = replace(option(0.80, a="shared"), placement=replace(one.placement, buffers=2))
    assert recommended([two, one], PRESENT, MACHINE, Demand()) is one
    faster = replace(option(0.7, a="shared"), placement=two.placement)
    assert recommended([faster, one], PRESENT, MACHINE, Demand()) is faster


def test_a_recommendation_needs_both_the_gain_and_the_probability():
    for one in (option(0.98, a="readonly"), option(0.5, 0.89, a="readonly")):
        assert recommended([one], PRESENT, MACHINE, Demand()) is None
    unknown = option(0.1, None, a="shared")
    assert recommended([unknown], PRESENT, MACHINE, Demand()) is None
    assert recommended([option(0.98, a="readonly")], PRESENT, MACHINE, Demand(gain=0.01))
    assert recommended([option(0.5, 0.6, a="shared")], PRESENT, MACHINE, Demand(probability=0.5))


def test_the_words_give_an_interval_where_the_probability_is_known():
    known, unknown = option(0.5, 0.97, a="shared"), option(0.5, None, a="shared")
    assert gain_in_words(known) == "2.00 times as fast (1.82–2.22), 97% likely to be faster"
    assert gain_in_words(unknown) == "2.00 times as fast, with unknown probability"


def test_moves_that_buy_nothing_are_not_tried():
    options = [
        option(0.80, a="shared"),
        option(0.805, a="shared", b="shared"),
        option(0.85, c="texture"),
        option(0.70, d="readonly"),
    ]
    options.sort(key=lambda o: o.ratio)
    chosen = finalists(options, PRESENT, MACHINE, 3)
    assert [moved(options[i]) for i in chosen] == [
        {"d": "readonly"}, {"a": "shared"}, {"c": "texture"},
    ]  # fmt: skip
    assert len(finalists(options, PRESENT, MACHINE, 9)) == 3
    assert finalists([], PRESENT, MACHINE, 3) == []
    assert finalists(options, PRESENT, MACHINE, 0) == []


def test_of_moves_of_the_same_arrays_that_are_as_good_the_smallest_edit_is_tried():
    options = [option(0.90, a="texture"), option(0.91, a="readonly"), option(0.915, b="texture")]
    options += [option(0.97, b="readonly"), option(0.98, c="constant"), option(0.99, c="readonly")]
    chosen = finalists(options, PRESENT, MACHINE, 9)
    assert [moved(options[i]) for i in chosen] == [
        {"a": "readonly"}, {"b": "texture"}, {"b": "readonly"}, {"c": "readonly"},
    ]  # fmt: skip


def test_of_timed_forms_those_that_memory_traffic_does_not_favour_are_left_to_other_rules():
    options = [option(0.90, a="texture"), option(1.0, b="readonly"), option(1.01, c="texture")]
    assert finalists(options, PRESENT, MACHINE, 9) == [0]
    assert finalists(options, replace(PRESENT, rerun=None), MACHINE, 9) == [0, 1, 2]


def test_of_placements_that_lose_only_one_is_tried():
    options = [option(1.03, a="readonly"), option(1.3, b="shared"), option(2.0, c="shared")]
    assert finalists(options, PRESENT, MACHINE, 9) == [0]


def test_the_verdict_tells_why_it_is_not_the_first_in_the_ranking():
    first, simple, worse = option(0.50, a="shared"), option(0.505, a="readonly"), option(0.6)
    assert "hardly faster" in simpler_than_first(simple, (first, simple, worse))
    assert simpler_than_first(first, (first, simple, worse)) == ""
    # The first was left for another reason, which the verdict tells.
    assert simpler_than_first(worse, (first, simple, worse)) == ""
    unproven = replace(first, verification=None)
    assert simpler_than_first(simple, (unproven, simple)) == ""
