"""What the browser asks for becomes a case, within bounds."""

import json

import numpy as np
import pytest

from placewise.errors import CaseError, PlacewiseError
from placewise.studio.draft import draft
from placewise.studio.requests import AskedMachine, asked_run, case_of, machine_of

SOURCE = """\
__global__ void scale(const float *in, unsigned int *out, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (unsigned int) (by * in[i]);
}
"""


def request(**changes):
    made = draft(SOURCE)
    case = {
        "source": SOURCE,
        "kernel": made["kernels"][0]["kernel"],
        "block": [128],
        "problem": [1000],
        "arguments": made["kernels"][0]["arguments"],
    }
    return {"kind": "time", "case": case | changes, "machines": [{"name": "A100"}]}


def asked(data):
    return asked_run(json.dumps(data).encode())


def test_a_draft_names_the_parameters_and_their_types():
    made = draft(SOURCE)["kernels"][0]
    assert made["kernel"] == "scale"
    assert [(a["name"], a["dtype"], a["shape"] is None) for a in made["arguments"]] == [
        ("in", "float32", False), ("out", "uint32", False), ("n", "int32", True),
        ("by", "float32", True),
    ]  # fmt: skip
    assert [a["filling"]["kind"] for a in made["arguments"]] == [
        "uniform",
        "fill",
        "value",
        "value",
    ]
    assert draft("int main() {}")["kernels"] == []


def test_a_request_becomes_the_case_that_it_describes(tmp_path):
    data = request()
    data["case"]["arguments"][0] |= {"shape": [1000], "filling": {"kind": "arange"}}
    case = case_of(asked(data).case, tmp_path)
    assert case.launch.grid == (8, 1, 1)
    arguments = {a.name: a for a in case.inputs.arguments}
    assert np.array_equal(arguments["in"].data, np.arange(1000, dtype=np.float32))
    assert arguments["n"].value == 1 << 20


def test_an_example_may_have_its_source_edited(tmp_path):
    data = request()
    data["case"] = {"example": "spmv", "source": "// other\n"}
    assert case_of(asked(data).case, tmp_path).source == "// other\n"
    data["case"] = {"example": "spmv"}
    assert "spmv" in case_of(asked(data).case, tmp_path).source


@pytest.mark.parametrize(
    "changes",
    [
        {"block": []},
        {"block": [0]},
        {"block": ["256"]},
        {"arguments": [{"name": "a", "dtype": "float32", "file": "/etc/passwd"}]},
        {"include": ["/etc"]},
        {"source": "x" * 500_001},
        {"kernel": ""},
    ],
)
def test_what_is_no_request_is_refused(changes):
    with pytest.raises(CaseError):
        asked(request(**changes))


def test_arrays_beyond_the_bound_are_refused(tmp_path):
    data = request()
    data["case"]["arguments"][0]["shape"] = [1 << 30]
    with pytest.raises(CaseError, match="the studio runs up to"):
        case_of(asked(data).case, tmp_path)


@pytest.mark.parametrize(
    "case", [{"example": "/etc/passwd"}, {"example": "../x.toml"}, {"example": "no-such"}]
)
def test_an_example_is_a_name_and_no_path(tmp_path, case):
    with pytest.raises(CaseError):
        case_of(asked(request() | {"case": case}).case, tmp_path)


def test_a_machine_is_a_name_or_a_text_and_no_path(tmp_path):
    file = tmp_path / "a.msl"
    file.write_text("machine A like A100;")
    assert machine_of(AskedMachine(name="A100")).name == "A100"
    assert machine_of(AskedMachine(text="machine A like A100;")).name == "A"
    with pytest.raises(PlacewiseError):
        machine_of(AskedMachine(name=str(file)))
