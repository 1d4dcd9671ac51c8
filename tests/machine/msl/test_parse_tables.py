"""Parse tables on disk never matter for what is parsed."""

import pytest
from lark import Lark

from placewise.machine.msl import parse_tables
from placewise.machine.msl.parse_tables import kept_tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "caches"
    monkeypatch.setattr(parse_tables, "user_cache_path", lambda _: place)
    return place


def test_tables_are_kept_and_made_anew_for_another_grammar(folder):
    for word in ("one", "one", "two"):
        parser = Lark(f'start: "{word}"', parser="lalr", cache=kept_tables("tables"))
        assert parser.parse(word).data == "start"
        assert (folder / "tables").is_file()


def test_where_no_folder_can_be_made_none_are_kept(folder):
    folder.write_text("a file")
    assert kept_tables("tables") is False
    assert Lark('start: "one"', parser="lalr", cache=kept_tables("tables")).parse("one")
