"""`placewise counters`: text, data, parts that add up, and measured counters beside."""

import json
import sys

import pytest

from placewise.advise.counters import predict_counters
from placewise.cli.main import main
from placewise.report import counters_document, render_counters, report_console

LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
WARPS = "smsp__inst_executed.sum"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "profile.csv"
    path.write_text(f'"ID","Kernel Name","{LOADS}","{STORES}"\n"0","{{}}","1000","5"\n')
    return predict_counters("spmv", "RTX2080Ti", measured=path, row=0)


def text_of(report, **options):
    console = report_console()
    with console.capture() as capture:
        console.print(render_counters(report, **options))
    return capture.get()


def test_predicted_beside_measured(report):
    predicted = {m.name: m.value for m in report.metrics}
    line = next(x for x in text_of(report).splitlines() if LOADS in x)
    error = 100 * (predicted[LOADS] / 1000 - 1)
    assert f"{predicted[LOADS]:,.0f}" in line
    assert "1,000" in line
    assert f"{error:+.2f} %" in line


def test_parts_add_up(report):
    document = counters_document(report)
    json.dumps(document, allow_nan=False)
    total = {name: c["value"] for name, c in document["counters"].items()}
    arrays = document["arrays"].values()
    lines = [x["counters"] for x in document["lines"]]
    for name in (LOADS, STORES):
        assert sum(a[name]["value"] for a in arrays if name in a) == pytest.approx(total[name])
        assert sum(x[name]["value"] for x in lines if name in x) == pytest.approx(total[name])
    assert sum(x[WARPS]["value"] for x in lines if WARPS in x) <= total[WARPS]
    assert document["executed"] == "machine code"


def test_what_the_machine_reads_itself_is_counted_and_said(report):
    """Without it, L2 reads are those of the arrays and of the machine code."""
    reads = "lts__t_sectors_op_read.sum"
    document = counters_document(report)
    total = document["counters"][reads]["value"]
    parts = sum(a[reads]["value"] for a in document["arrays"].values() if reads in a)
    assert "(machine code)" in document["arrays"]
    assert document["background_microseconds"] > 0
    assert total - parts == pytest.approx(443e6 / 32 * document["background_microseconds"] * 1e-6)
    assert "at all times" in " ".join(document["notes"])


def test_each_array_and_line_is_told(report):
    by_array, by_line = text_of(report, by="array"), text_of(report, by="line")
    assert all(f"\n{name}\n" in by_array for name in ("values", "columns", "x", "y"))
    assert "values[j] * x[columns[j]]" in by_line


def test_bad_input(monkeypatch, capsys, tmp_path):
    nothing = tmp_path / "empty.csv"
    nothing.write_text("")
    arguments = ["counters", "spmv", "-m", "A4000", "--measured", str(nothing)]
    monkeypatch.setattr(sys, "argv", ["placewise", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "no counters" in capsys.readouterr().err
