"""``placewise machine``, in process."""

import json

from typer.testing import CliRunner

from placewise.cli.main import app

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


def test_diff_of_two_machines():
    assert "globalMem" in answer("diff", "K20c", "A100")
    data = json.loads(answer("diff", "A100", "A100", "--format", "json"))
    assert data["differences"] == []
    assert "same figures" in answer("diff", "A100", "A100")
