import pytest

from placewise.space import Placement


def test_a_placement_says_what_moved():
    present = Placement.uniform(("a", "b", "c"))
    other = Placement.of({"a": "global", "b": "constant", "c": "shared"})
    assert other.moved(present) == (("b", "global", "constant"), ("c", "global", "shared"))
    assert other["b"] == "constant"
    assert other.arrays == ("a", "b", "c")
    with pytest.raises(KeyError):
        other["d"]
