"""``placewise validate`` on a small kernel whose times are invented."""

import json

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.errors import PlacewiseError

CASE = """schema = 1
kernel = "scale"
code = '''
extern "C" __global__ void scale(float *out, const float *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if read_only
    out[i] = 2.0f * __ldg(in + i);
#else
    out[i] = 2.0f * in[i];
#endif
}
'''
placement_parameters = ["read_only"]

[parameters]
block_size_x = 64
read_only = 0

[launch]
problem = [262144]
block = ["block_size_x"]

[[arguments]]
name = "out"
dtype = "float32"
shape = [262144]
fill = 0

[[arguments]]
name = "in"
dtype = "float32"
shape = [262144]
uniform = { seed = 0 }
"""
TIMES = "block_size_x,read_only,time_us\n64,0,4\n64,1,5\n128,0,4.5\n128,1,4\n"


@pytest.fixture
def files(tmp_path):
    case, times = tmp_path / "scale.toml", tmp_path / "times.csv"
    case.write_text(CASE)
    times.write_text(TIMES)
    return str(times), "--case", str(case)


def invoke(*arguments):
    return CliRunner().invoke(app, ["validate", *arguments, "-q"], catch_exceptions=True)


def test_every_configuration_is_predicted_and_compared(files, tmp_path):
    plot = tmp_path / "plots" / "accuracy.svg"
    result = invoke(
        *files, "-m", "A4000", "--model", "timeline", "--model", "roofline", "--json",
        "--plot", str(plot),
    )  # fmt: skip
    assert result.exit_code == 0
    (table,) = json.loads(result.stdout)["tables"]
    assert [row["measured_ns"] for row in table["chosen"]] == [4000, 5000, 4500, 4000]
    timeline, roofline = table["models"]
    assert (timeline["model"], roofline["model"]) == ("timeline", "roofline")
    assert len(timeline["predictions"]) == 4
    for prediction in timeline["predictions"]:
        assert 0 < prediction["low"] <= prediction["predicted"] <= prediction["high"]
    # Read-only or not, the same loads: the ratios 5/4 and 4/4.5 are missed by their distance to 1.
    (placement,) = timeline["placements"]
    assert placement["pairs"] == 2
    assert placement["no_change"] == pytest.approx((0.2 + 0.125) / 2)
    assert plot.read_text().startswith("<?xml")


def test_the_best_are_looked_for_among_all(files):
    options = ("-m", "A4000", "--model", "timeline", "--best", "-n", "3")
    result = invoke(*files, *options, "--json")
    assert result.exit_code == 0
    (table,) = json.loads(result.stdout)["tables"]
    # A sample takes twenty at least: here three at random, and the budget is spent.
    assert table["search"] == {"sampled": 3, "finished": False}
    assert len(table["models"][0]["predictions"]) == 3
    shown = invoke(*files, *options)
    assert "timeline puts first" in shown.stdout
    assert "3 of 4 configurations" in shown.stdout


def test_a_slower_clock_takes_longer(files):
    def first(*options):
        result = invoke(*files, "-m", "A4000", "--model", "timeline", "--json", *options)
        (table,) = json.loads(result.stdout)["tables"]
        return table["models"][0]["predictions"][0]["predicted"]

    assert first("--clock", "780") > first()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "which machine was this measured on"),
        (("-m", "A4000", "--model", "guess"), "no model 'guess'"),
        (("-m", "A4000", "--plot", "a.gif"), ".svg or a .png"),
        (("-m", "A4000", "-m", "A100"), "2 machines for 1 files"),
    ],
)
def test_bad_input_is_one_error(files, options, message):
    result = invoke(*files, *options)
    assert isinstance(result.exception, PlacewiseError)
    assert message in str(result.exception)
    assert not result.stdout


def test_notes_of_predictions_are_told(files):
    done = invoke(*files, "-m", "A4000", "--model", "timeline", "--workers", "1")
    assert done.exit_code == 0, done.output
    assert "note: timeline, " in done.output
    document = json.loads(
        invoke(*files, "-m", "A4000", "--model", "timeline", "-n", "1", "--json").stdout
    )
    (model,) = document["tables"][0]["models"]
    assert all(prediction["notes"] for prediction in model["predictions"])


def test_a_configuration_that_takes_too_long_is_given_up(files):
    done = invoke(*files, "-m", "A4000", "--model", "timeline", "--limit", "0.001", "--json")
    assert done.exit_code == 0, done.output
    (model,) = json.loads(done.stdout)["tables"][0]["models"]
    assert model["refused"] == [{"why": "no prediction within 0.001 s", "configurations": 4}]
