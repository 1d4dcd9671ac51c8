"""The benchmark of legal placements: its order, and how it goes on where it stopped."""

import json
from dataclasses import asdict
from types import SimpleNamespace

from benchmarks.placement import legal
from benchmarks.placement.legal import Outcome
from placewise import load_case, load_machine
from placewise.advisor.prepare import prepare
from placewise.space import Placement


def test_forms_that_move_one_array_come_first():
    legality = prepare(load_case("triad"), load_machine("A100")).legality
    found = legal.placements_of(legality)
    moves = [len(p.moved(legality.present)) for p in found]
    single = moves.index(2)
    assert set(moves[:single]) == {1}
    assert 0 not in moves
    assert len(set(found)) == len(found)


def test_cases_take_turns():
    forms = {"a": [("p", "1"), ("q", "2")], "b": [("r", "3")], "c": []}
    assert [key for *_, key in legal._in_turn(forms)] == ["1", "3", "2"]


def test_cases_of_one_source_are_told_apart():
    placement = Placement((("x", "readonly"),))
    case = SimpleNamespace(source="text")
    assert legal._key("spmv", case, placement) != legal._key("spmv-skewed", case, placement)


def test_what_is_done_is_counted_and_what_is_wrong_named(tmp_path):
    kept = tmp_path / "forms.jsonl"
    good, bad = (
        Outcome("a", "x", "1", "", 2),
        Outcome("a", "y", "2", "other bits", 1),
    )
    kept.write_text("".join(json.dumps(asdict(o)) + "\n" for o in (good, bad)))
    done = {o.key: o for o in legal._read(kept)}
    figures = {f.figure: f for f in legal._figures({"a": [(None, k) for k in "123"]}, done)}
    assert figures["legal placements of the bundled cases"].value == 3
    written = next(f for name, f in figures.items() if "architectures" in name)
    assert (written.value, written.holds) == (2, False)
    assert not figures["a: wrong"].holds
    assert legal._read(tmp_path / "none.jsonl") == []
