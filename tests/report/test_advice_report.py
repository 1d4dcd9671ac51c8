import json
from dataclasses import replace

import pytest

from placewise.advisor import advise
from placewise.advisor.documents.advice import SCHEMA_VERSION
from placewise.errors import PlacewiseError
from placewise.model.additive import SHARED
from placewise.report.advice.files import as_text, check_folder, write_files
from placewise.report.advice.text import SHOWN


def test_the_document_is_json_and_carries_the_ranking(gather_advice):
    data = json.loads(json.dumps(gather_advice.to_dict(), allow_nan=False))
    assert data["schema_version"] == SCHEMA_VERSION
    assert len(data["options"]) == len(gather_advice.options)
    first = data["options"][0]
    assert first["verification"]["identical"] is True
    assert first["source"].count("__global__") == 1
    for part in first["prediction"]["parts"]:
        # What all paths share repeats terms of theirs, so that it has none itself.
        if part["path"] != SHARED:
            assert part["cycles"] == pytest.approx(sum(t["cycles"] for t in part["terms"]))


def test_the_text_says_what_a_person_asks(gather_advice):
    text = as_text(gather_advice)
    for words in ("Verdict", "Why", "Not possible", "interval", "faster", "identical", "line 6"):
        assert words in text
    assert text.index("Verdict") < text.index("interval") < text.index("Not possible")
    assert all(len(line) <= 110 for line in text.splitlines())
    assert "\x1b[" not in text


def test_files_hold_the_verified_source(gather_advice, tmp_path):
    first = replace(gather_advice, recommended=gather_advice.options[0])
    folder = tmp_path / "new" / "folder"
    files = write_files(first, folder)
    assert {f.name for f in files} == {
        "advice.json", "advice.txt", "gather.cu", "gather.host.txt",
    }  # fmt: skip
    assert {p.name for p in folder.iterdir()} == {f.name for f in files}
    assert (folder / "gather.cu").read_text() == first.options[0].rewritten.case.source


def test_no_source_is_written_where_the_advice_is_to_keep_it(gather_advice, tmp_path):
    files = write_files(replace(gather_advice, recommended=None), tmp_path)
    assert {f.name for f in files} == {"advice.json", "advice.txt"}


def test_a_folder_is_checked_before_the_work(tmp_path):
    (tmp_path / "taken").write_text("a file")
    check_folder(tmp_path / "new" / "one")
    assert not (tmp_path / "new").exists()
    with pytest.raises(PlacewiseError):
        check_folder(tmp_path / "taken" / "below")


def test_a_folder_that_cannot_be_written_is_an_error(gather_advice, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(PlacewiseError) as caught:
        write_files(gather_advice, tmp_path / "taken")
    assert "taken" in (caught.value.where or "")
    assert (tmp_path / "taken").read_text() == "a file"


def test_options_without_a_time_are_not_ranked_among_those_with_one(gather_case):
    advice = advise(gather_case, "A100", finalists=1)
    untimed = [o for o in advice.options if o.rerun is None and o.verification is None]
    assert untimed
    lines = as_text(advice).splitlines()
    numbered = [line for line in lines if line[:1].isdigit() and line[1:3] == "  "]
    assert len(numbered) == min(SHOWN, len(advice.options) - len(untimed))
    assert all("×" in line for line in numbered)
