"""A comparison of two sources holds both, line by line."""

from hypothesis import given
from hypothesis import strategies as st

from placewise.report.html.changes import CONTEXT, changed_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=40)


@given(LINES, LINES)
def test_both_texts_can_be_read_from_their_comparison(before, after):
    found = changed_lines("\n".join(before), "\n".join(after))
    old, new = "\n".join(before).splitlines(), "\n".join(after).splitlines()
    for line in found:
        assert line["before"] is None or old[line["before"] - 1] == line["text"]
        assert line["after"] is None or new[line["after"] - 1] == line["text"]
    left_out = sum(int(line["text"]) for line in found if line["kind"] == "gap")
    shown = [line for line in found if line["kind"] != "gap"]
    assert sum(line["before"] is not None for line in shown) + left_out == len(old)
    assert sum(line["after"] is not None for line in shown) + left_out == len(new)


def test_long_stretches_that_are_the_same_are_left_out():
    old = [f"line {n}" for n in range(30)]
    new = [*old[:15], "changed", *old[16:]]
    found = changed_lines("\n".join(old), "\n".join(new))
    kinds = [line["kind"] for line in found]
    assert kinds == ["gap", *["same"] * CONTEXT, "removed", "added", *["same"] * CONTEXT, "gap"]
    assert [line["text"] for line in found if line["kind"] == "gap"] == ["12", "11"]
