"""What a page says of a form, compared with figures worked out by hand."""

import numpy as np
import pytest

import placewise
from placewise.report.html.forms import form_document

N = 256
TRANSPOSE = """\
__global__ void transpose(const float *in, float *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}
"""
STRIDED = """\
__global__ void strided(float *out) {
    __shared__ float tile[32 * 32];
    tile[threadIdx.x * 32] = threadIdx.x;
    __syncwarp();
    out[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x * 32];
}
"""


@pytest.fixture(scope="module")
def transposed():
    arguments = [np.ones((N, N), np.float32), np.zeros((N, N), np.float32), np.int32(N)]
    case = placewise.make_case("transpose", TRANSPOSE, arguments, block=(32, 8), problem=(N, N))
    return form_document(placewise.predict_counters(case, "A100"), title="as it is")


@pytest.fixture(scope="module")
def strided():
    arguments = [np.zeros(64 * 32, np.float32)]
    case = placewise.make_case("strided", STRIDED, arguments, block=32, grid=64)
    return form_document(placewise.predict_counters(case, "A100"), title="as it is")


def test_the_chart_of_a_transposition(transposed):
    warps = N * N // 32
    links = {(x["source"], x["target"], x["kind"]): x for x in transposed["chart"]["links"]}
    assert links["kernel", "global", "request"]["amount"] == 2 * warps
    # Neighbouring lanes load neighbouring numbers, and store to rows 1 KB apart.
    assert links["global", "l1", "read"]["amount"] == 4 * warps
    assert links["global", "l1", "write"]["amount"] == 32 * warps
    # Every byte of the input is read once from DRAM, through L2.
    assert links["dram", "l2", "read"]["amount"] == 4 * N * N
    assert links["l2", "l1", "read"]["amount"] == 4 * N * N
    assert links["l1", "l2", "write"]["amount"] == 32 * 32 * warps
    units = {u["id"]: u for u in transposed["chart"]["units"]}
    assert units["l1"]["hit_share"] == 0.0
    assert all(0.0 <= x["peak_share"] <= 1.0 for x in links.values() if x["peak_share"] is not None)


def test_the_heat_of_a_transposition(transposed):
    (line,) = [x for x in transposed["lines"] if x["requests"]]
    warps = N * N // 32
    assert line["line"] == 4
    assert line["cached_requests"] == line["requests"] == 2 * warps
    assert (line["sectors"], line["least_sectors"]) == (36 * warps, 8 * warps)
    assert line["wavefronts"] == 0
    # Three of four sectors of its stores serve nobody, so mending them saves time, but not all.
    assert 0.0 < line["saving"] < 1.0


def test_lanes_of_a_store_lie_a_row_apart(transposed):
    store = next(s for s in transposed["samples"] if s["kind"] == "store")
    assert (store["array"], store["line"], store["lane_bytes"]) == ("out", 4, 4)
    assert np.diff(store["offsets"]).tolist() == [4 * N] * 31
    assert store["transactions"] == 32
    load = next(s for s in transposed["samples"] if s["kind"] == "load")
    assert np.diff(load["offsets"]).tolist() == [4] * 31
    assert load["transactions"] == 4


def test_all_lanes_meet_in_one_bank(strided):
    shared = [s for s in strided["samples"] if s["space"] == "shared"]
    assert {s["kind"] for s in shared} == {"load", "store"}
    for sample in shared:
        assert sample["transactions"] == 32
        assert {offset // 4 % 32 for offset in sample["offsets"]} == {
            sample["offsets"][0] // 4 % 32
        }
    lines = {x["line"]: x for x in strided["lines"]}
    assert lines[3]["wavefronts"] == 64 * 32
    assert lines[3]["least_wavefronts"] == 64
    links = {(x["source"], x["target"]): x for x in strided["chart"]["links"]}
    assert links["shared", "shared_memory"]["amount"] == 2 * 64 * 32


def test_listings_are_tied_to_source_lines(strided):
    for listing in (strided["ptx"], strided["sass"]):
        assert {x["line"] for x in listing} >= {3, 5}
    stores = [x for x in strided["sass"] if x["text"].startswith("STS")]
    assert [x["line"] for x in stores] == [3]
    assert [x["executions"] for x in stores] == [64]
    assert any(x["text"].startswith("st.shared") and x["line"] == 3 for x in strided["ptx"])


def test_the_roofline_counts_operations():
    source = """__global__ void twice(float *a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        a[i] = __fmaf_rn(a[i], 3.0f, 1.0f);
    }"""
    case = placewise.make_case("twice", source, [np.ones(4096, np.float32)], block=128, grid=32)
    roof = form_document(placewise.predict_counters(case, "A100"), title="")["roofline"]
    assert roof["operations"] == 2 * 4096
    # NVIDIA's whitepaper: 19.5 TFLOPS at 1410 MHz, and 1555 GB/s.
    assert roof["peak_operations_per_s"] == pytest.approx(19.5e12, rel=0.01)
    assert roof["peak_dram_bytes_per_s"] == 1555e9
    assert roof["dram_bytes"] >= 4 * 4096
