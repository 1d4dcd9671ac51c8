"""Every table and figure of the papers has its entry, and every command in it exists."""

import pytest

from placewise.cli.commands.reproduce import What
from placewise.reproduce.coverage import AS_TEXT, ENTRIES, coverage

NUMBERED = {
    "Chen et al. 2017": ("Table", range(1, 6)),
    "Huang and Li 2017": ("Table", range(1, 5)),
    "Hu and Liu 2015": ("Table", range(1, 6)),
    "Peng et al. 2016": ("Table", range(1, 6)),
}
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5}


def numbers(text):
    """Numbers of ``Table I``, ``Tables II and III``, ``Tables I to V``, ``Tables 2, 3, 5``."""
    words = text.split(":")[0].replace(",", " ").split()
    values = [int(w) if w.isdigit() else ROMAN[w] for w in words if w.isdigit() or w in ROMAN]
    return set(range(values[0], values[1] + 1)) if "to" in words else set(values)


@pytest.mark.parametrize("paper", NUMBERED)
def test_all_tables_are_named(paper):
    word, wanted = NUMBERED[paper]
    of_paper = [what for one, what, _, _ in ENTRIES if one == paper and what.startswith(word)]
    assert set(wanted) <= set().union(*map(numbers, of_paper))


def test_every_entry_has_a_command_or_a_reason():
    commands = {one.value for one in What}
    for _, what, by, why in ENTRIES:
        assert by or why, what
        if by and " " not in by:
            assert by in commands, what
    found = coverage()
    (table,) = found.tables
    assert len(table.rows) == len(ENTRIES)
    without = [e for e in ENTRIES if e[2] is None and e[3] != AS_TEXT]
    refused = [row for row in table.rows if str(row[3]).startswith("cannot be recomputed: ")]
    assert len(refused) == len(without) == found.figures["not recomputed"]
