"""The report's arithmetic on classes written by hand."""

import json

import pytest
from pydantic import TypeAdapter

from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.report import ClassReport, TuneReport
from placewise.runtime.stopwatch import Overhead, Stopwatch
from placewise.schemas.tune import TuneDocument


def one(**other):
    given = {
        "launches_of": "grid 4, block 128; 512",
        "launches": 11,
        "tuned_launches": 10,
        "moves": "x → constant",
        "why": "recommended and proven",
        "present_ms": 0.5,
        "chosen_ms": 0.25,
        "faster": 0.95,
        "from_cache": False,
        "other_values": 0,
        "overhead": Overhead(1.0, 2.0, 0.5, 0.25, 0.25),
    }
    return ClassReport(**{**given, **other})


def test_pays_after():
    # 4 s of overhead, 0.25 ms for each launch.
    assert one().pays_after == 16000
    assert one(moves="").pays_after is None
    assert one(chosen_ms=0.5).pays_after is None
    assert one(present_ms=None).pays_after is None


def test_sums_and_documents():
    report = TuneReport(
        "f", (one(), one(moves="", why="keep it")), (("shared", 3),), Overhead(compilation=1.0)
    )
    assert report.launches == 25
    assert report.tuned_launches == 20
    assert report.overhead == Overhead(2.0, 4.0, 1.0, 1.5, 0.5)
    assert report.saved_ms == pytest.approx(2.5)
    document = json.loads(json.dumps(report.to_dict()))
    TypeAdapter(TuneDocument).validate_python(document, strict=True)
    assert document["overhead_s"]["total"] == pytest.approx(9.0)
    assert document["classes"][0]["pays_after"] == 16000
    assert document["untuned"] == [{"why": "shared", "launches": 3}]
    assert list(report.to_dataframe()["search_s"]) == [2.0, 2.0]
    text = str(report)
    assert "20 of 25 launches ran a chosen version" in text
    assert "pays after 16000 launches; 10 so far" in text
    assert "original: keep it" in text
    assert "original, 3 launches: shared" in text


def test_steps_of_the_advisor_by_part():
    watch = Stopwatch(patience=100.0)
    with watch.advising():
        watch("compiling", 0, 0)
        watch("running and tracing", 1, 2)
        watch("running and tracing", 2, 2)
        watch("searching placements", 0, 0)
    with watch.part("checks"):
        pass
    found = watch.overhead
    assert min(found.compilation, found.profiling, found.search, found.checks) > 0
    assert found.lookups == 0


def test_patience():
    watch = Stopwatch(patience=0.0)
    with watch.advising(), pytest.raises(DoubtError, match="more than 0 s"):
        watch("compiling", 0, 0)
