"""``placewise layout``."""

import json

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import CaseError
from placewise.schemas import DOCUMENTS

SOURCE = """struct P { float x, y, z, w; int a, b, c, d; };
__global__ void push(P *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i].x += p[i].y;
}
"""
CASE = """schema = 1
name = "push"
kernel = "push"
source = "push.cu"
[launch]
problem = [65536]
block = [256]
[[arguments]]
name = "p"
shape = [65536]
structs = [
    { name = "x", dtype = "float32", uniform = { seed = 1 } },
    { name = "y", dtype = "float32", uniform = { seed = 2 } },
    { name = "z", dtype = "float32", fill = 0 },
    { name = "w", dtype = "float32", fill = 0 },
    { name = "a", dtype = "int32", arange = {} },
    { name = "b", dtype = "int32", fill = 0 },
    { name = "c", dtype = "int32", fill = 0 },
    { name = "d", dtype = "int32", integers = { high = 9, seed = 3 } },
]
[[arguments]]
name = "n"
dtype = "int32"
value = 65536
"""


@pytest.fixture
def case(tmp_path):
    (tmp_path / "push.cu").write_text(SOURCE)
    file = tmp_path / "push.toml"
    file.write_text(CASE)
    return file


def run(*arguments):
    return CliRunner().invoke(app, ["layout", *map(str, arguments), "--quiet"])


def test_the_answer_comes_first_and_the_files_are_written(case, tmp_path):
    found = run(case, "-m", "A100", "--out", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert "Lay p (P) out as" in found.output
    assert "times as fast" in found.output
    names = {f.name for f in (tmp_path / "out").iterdir()}
    assert names == {"layout.json", "push.cu", "push-convert.cuh", "push_convert.py"}


def test_json_is_the_advice(case):
    found = run(case, "-m", "A100", "--layout", "soa", "--json")
    data = json.loads(found.stdout)
    TypeAdapter(DOCUMENTS["placewise-layout"]).validate_json(found.stdout, strict=True)
    assert data["structs"][0]["options"][0]["kind"] == "SoA"


def test_static_costs_need_no_run(case, tmp_path):
    found = run(case, "-m", "A100", "--static")
    assert found.exit_code == 0, found.output
    assert "Lay p (P) out as" in found.output
    assert "the branch in line 4 is taken" in found.output
    document = json.loads(run(case, "-m", "A100", "--static", "--json").stdout)
    TypeAdapter(DOCUMENTS["placewise-static-layout"]).validate_python(document, strict=True)
    with pytest.raises(CaseError, match="writes no files"):
        CliRunner().invoke(
            app,
            ["layout", str(case), "-m", "A100", "--static", "--out", str(tmp_path / "o")],
            catch_exceptions=False,
        )
    assert not (tmp_path / "o").exists()


def test_kernels_without_structs_are_told_so():
    found = run("spmv", "-m", "A100")
    assert found.exit_code == 0
    assert "no array of structs" in found.output


def test_a_layout_that_does_not_fit_is_one_error(case, tmp_path):
    found = run(case, "-m", "A100", "--layout", "{x y}", "--out", tmp_path / "out")
    assert isinstance(found.exception, CaseError)
    assert "leaves out field 'z'" in str(found.exception)
    assert not (tmp_path / "out").exists()


def test_separate_arrays_are_joined(tmp_path):
    (tmp_path / "gather.cu").write_text(
        "__global__ void gather(const float *x, const float *y, const int *near, float *out) {\n"
        "    int j = near[threadIdx.x];\n    out[threadIdx.x] = x[j] + y[j];\n}\n"
    )
    arrays = "".join(
        f'[[arguments]]\nname = "{name}"\nshape = [64]\ndtype = "{dtype}"\n{values}\n'
        for name, dtype, values in (
            ("x", "float32", "uniform = { seed = 1 }"),
            ("y", "float32", "uniform = { seed = 2 }"),
            ("near", "int32", "integers = { high = 63, seed = 3 }"),
            ("out", "float32", "fill = 0"),
        )
    )
    case = tmp_path / "gather.toml"
    case.write_text(
        'schema = 1\nname = "gather"\nkernel = "gather"\nsource = "gather.cu"\n'
        "[launch]\ngrid = [1]\nblock = [64]\n" + arrays
    )
    found = run(case, "-m", "A100", "--join", "x, y", "--json", "--least-gain", "0")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    TypeAdapter(DOCUMENTS["placewise-layout"]).validate_python(document)
    (structs,) = document["structs"]
    assert structs["arrays"] == ["x", "y"]
    assert structs["present"] == "{x} {y}"
    assert structs["options"][0]["proven"]
    with pytest.raises(CaseError, match="one array alone"):
        CliRunner().invoke(
            app, ["layout", str(case), "-m", "A100", "--join", "x"], catch_exceptions=False
        )


def test_joining_goes_with_a_search_of_layouts():
    with pytest.raises(CaseError, match="--join goes with --layouts"):
        CliRunner().invoke(
            app, ["advise", "spmv", "-m", "A100", "--join", "x,y"], catch_exceptions=False
        )
