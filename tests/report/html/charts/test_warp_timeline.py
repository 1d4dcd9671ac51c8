"""The picture of warps over time, and waits by line, against the timeline's own record."""

import re

import numpy as np
import pytest

import placewise
from placewise.model.timeline.watch import REASONS
from placewise.report.html.forms import form_document

REDUCE = """\
__global__ void reduce(const float *a, float *out) {
    __shared__ float part[256];
    part[threadIdx.x] = a[(blockIdx.x * 256 + threadIdx.x) * 8];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
BLOCKS = 4096


@pytest.fixture(scope="module")
def case():
    arguments = [np.ones(BLOCKS * 256 * 8, np.float32), np.zeros(BLOCKS, np.float32)]
    return placewise.make_case("reduce", REDUCE, arguments, block=256, grid=BLOCKS)


@pytest.fixture(scope="module")
def timeline(case):
    report = placewise.predict_counters(case, "A100", records=100_000)
    return form_document(report, title="as it is")["timeline"]


def columns_of(row):
    assert re.fullmatch(r"(?:[a-j-]\d*)+", row)
    return [
        letter for letter, size in re.findall(r"([a-j-])(\d*)", row) for _ in range(int(size or 1))
    ]


def test_every_place_of_the_sm_has_a_row_over_all_time(timeline):
    assert timeline["states"] == ["issued", *REASONS]
    # 2,048 threads on an SM: eight blocks of eight warps, and as many after them.
    assert (timeline["blocks"], timeline["warps_per_block"]) == (16, 8)
    assert len(timeline["warps"]) == 64
    columns = len(timeline["issue_share"])
    assert {len(columns_of(row)) for row in timeline["warps"]} == {columns}
    assert columns * timeline["cycles_per_column"] == pytest.approx(timeline["cycles"])


def test_issues_fill_the_strip(timeline):
    issued = sum(at["issued"] for at in timeline["stalls"])
    slots = 4 * timeline["cycles_per_column"]
    assert sum(timeline["issue_share"]) * slots == pytest.approx(issued, rel=0.01)
    assert all(0.0 <= share <= 1.0 for share in timeline["issue_share"])


def test_the_picture_shows_what_was_waited_for(timeline):
    shown = "".join(letter for row in timeline["warps"] for letter in columns_of(row))
    waits = np.array([at["waits"] for at in timeline["stalls"]]).sum(axis=0)
    lived = len(shown) - shown.count("-")
    # Long waits are seen as long as they are; the picture is of the state that prevails.
    for reason in ("data of arrays", "barrier"):
        n = REASONS.index(reason)
        drawn = shown.count(chr(ord("b") + n)) / lived
        assert drawn == pytest.approx(waits[n] / waits.sum(), abs=0.08)


def test_waits_stand_at_the_lines_that_wait(timeline):
    by_line = {}
    for at in timeline["stalls"]:
        by_line.setdefault(at["line"], np.zeros(len(REASONS)))
        by_line[at["line"]] += at["waits"]
    data, barrier = REASONS.index("data of arrays"), REASONS.index("barrier")
    # The store of line 3 waits for the load of the same line; nothing else loads an array.
    assert by_line[3][data] == pytest.approx(sum(w[data] for w in by_line.values()))
    assert by_line[3][data] > 0
    assert by_line[3][barrier] == 0
    assert sum(w[barrier] for w in by_line.values()) > 0
    stores = [at for at in timeline["stalls"] if at["line"] == 3 and at["waits"][data] > 0]
    assert all(at["waits_for"]["line"] == 3 for at in stores)
    assert all(at["waits_for"]["place"] != at["place"] for at in stores)


def test_a_page_without_a_time_has_no_timeline(case):
    report = placewise.predict_counters(case, "K20c", records=100_000)
    assert form_document(report, title="as it is")["timeline"] is None
