"""``placewise machine``, in process."""

import json

from typer.testing import CliRunner

from placewise.cli.main import app
from placewise.machine import machine_names

RUNNER = CliRunner()


def answer(*arguments):
    result = RUNNER.invoke(app, ["machine", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_show_names_figures_and_sources():
    shown = answer("show", "K20c")
    assert "1536 KB" in shown or "1.5 MB" in shown
    figures = json.loads(answer("show", "K20c", "--json"))["figures"]
    l2 = next(f for f in figures if (f["part"], f["name"]) == ("L2", "latency"))
    assert l2["value"] == 222.0
    assert l2["unit"] == "clk"


def test_list_as_data_names_every_machine():
    machines = json.loads(answer("list", "--json"))["machines"]
    h200 = next(m for m in machines if m["name"] == "H200")
    assert (h200["compute_capability"], h200["sms"]) == ([9, 0], 132)
    assert "shared" in h200["spaces"]
    assert len(machines) == len(machine_names())


def test_diff_of_two_machines():
    assert "globalMem" in answer("diff", "K20c", "A100")
    data = json.loads(answer("diff", "A100", "A100", "--format", "json"))
    assert data["differences"] == []
    assert "same figures" in answer("diff", "A100", "A100")
