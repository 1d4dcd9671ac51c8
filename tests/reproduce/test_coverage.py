"""Every table and figure of the papers has its entry, and every command in it exists."""

import pytest

from placewise.cli.commands.reproduce import What
from placewise.reproduce.coverage import AS_TEXT, CHEN, ENTRIES, HU, HUANG, MEI, PENG, coverage

ROMAN = ("I", "II", "III", "IV", "V")
NUMBERED = {
    CHEN: [f"Fig. {n}" for n in range(1, 15)] + [f"Table {n}" for n in range(1, 6)],
    HUANG: [f"Fig. {n}" for n in range(1, 10)] + [f"Table {n}" for n in ROMAN[:4]],
    HU: [f"Fig. {n}" for n in range(1, 6)] + [f"Table {n}" for n in ROMAN],
    PENG: [f"Fig. {n}" for n in range(1, 3)] + [f"Table {n}" for n in ROMAN],
}
"""The numbers of the papers' captions."""


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_table_and_figure_has_one_entry(paper):
    named = [e.number for e in ENTRIES if e.paper == paper and not e.number.startswith("Section")]
    assert sorted(named) == sorted(NUMBERED[paper])


def test_the_talk_has_its_captions():
    """Three tables and seven figures or lists of figures with numbers, by their captions."""
    named = {e.number for e in ENTRIES if e.paper == MEI and e.remark != AS_TEXT}
    for caption in ("Kepler Texture L1 Cache", "Global Memory Access Latencies", "TLB Structure",
                    "Texture Memory Access Latency", "Fermi L1 Data Cache"):  # fmt: skip
        assert caption in named


def test_every_entry_has_a_command_or_a_reason():
    commands = {f"reproduce {one.value}" for one in What} | {"cases --by paper"}
    for entry in ENTRIES:
        assert entry.command or entry.remark, entry
        assert entry.command is None or entry.command in commands, entry
    found = coverage()
    (table,) = found.tables
    assert len(table.rows) == len(ENTRIES)
    without = [e for e in ENTRIES if e.command is None and e.remark != AS_TEXT]
    refused = [r for r in table.rows if str(r[-1]).startswith("cannot be recomputed, because ")]
    assert len(refused) == len(without) == found.figures["not recomputed"]
