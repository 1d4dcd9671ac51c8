"""PTX of many lines: the time to read it grows with its length, not with the square."""

import pytest

from placewise.errors import CaseError
from placewise.kernel.ptx import parse_ptx

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
%s    ret;
}
"""


@pytest.mark.parametrize("line", ["\n", "  \t \n", " ", "// text\n"])
def test_blank_lines_take_next_to_nothing(line):
    """100,000 blank lines take minutes where each is looked at from each."""
    assert "k" in parse_ptx(PTX % (line * 100_000), "k").functions


def test_comments_that_never_end_are_read_once():
    with pytest.raises(CaseError):
        parse_ptx(PTX % ("/* " * 100_000), "k")
