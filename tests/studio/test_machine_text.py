"""The machine editor: text and form say the same, and errors have a place."""

import pytest

from placewise.errors import MachineError
from placewise.machine import load_machine
from placewise.machine.figures import figures
from placewise.studio.machine_text import EDITED, machine_view, parsed_machine, with_figure

MINE = 'machine Mine like A100 "Mine";\n'
"""A machine that changes nothing."""


def written(figure):
    value = "?" if figure["value"] is None else f"{figure['value']} {figure['unit']}"
    return value.strip()


def test_the_form_shows_every_figure_with_its_source():
    view = machine_view(MINE)
    assert view["error"] is None
    shown = {(f["part"], f["name"]): f for f in view["figures"]}
    assert {(f.part, f.name): f.value for f in figures(load_machine("A100"))} == {
        key: f["value"] for key, f in shown.items()
    }
    assert "mt4g" in shown["L1", "size"]["source"]


@pytest.mark.parametrize(
    ("part", "name", "value", "shown"),
    [
        ("limits", "clock", "1000 MHz", 1000.0),
        ("limits", "max_block", "512 512 64", "512 512 64"),
        ("L1", "size", "256 KB", 256 << 10),
        ("L2", "latency", "300 clk", "300 300"),
        ("sharedMem", "latency", "23 19 clk", "23 19"),
        ("L2", "bandwidth", "4000 B/clk", 4000.0),
        ("pipe fma", "latency", "5 clk", 5.0),
        ("L1", "size", "?", None),
    ],
)
def test_a_figure_that_is_set_in_the_form_stands_in_the_text(part, name, value, shown):
    text = with_figure(MINE, part, name, value)
    machine = parsed_machine(text)
    found = next(f for f in figures(machine) if (f.part, f.name) == (part, name))
    expected = shown if shown != "300 300" else 300.0
    assert found.value == expected
    assert found.source == EDITED
    others = {(f.part, f.name): f.value for f in figures(machine)} | {(part, name): None}
    before = {(f.part, f.name): f.value for f in figures(load_machine("A100"))}
    changed = {key for key in before if others.get(key) != before[key]} - {(part, name)}
    # A new clock makes the sustained clock of the base unknown, as inheritance says.
    assert changed <= {("limits", "clock_base"), ("limits", "clock_sustained")}


def test_setting_a_figure_again_replaces_it_in_its_place():
    once = with_figure(MINE, "L1", "size", "256 KB")
    beside = with_figure(once, "L1", "latency", "40 clk")
    again = with_figure(beside, "L1", "size", "512 KB")
    assert again.count("change L1") == 1
    assert again.count("size =") == 1
    assert parsed_machine(again).memory("L1").size_bytes == 512 << 10
    assert parsed_machine(again).memory("L1").latency_cycles == 40.0


def test_comments_and_quoted_semicolons_stay():
    text = MINE + 'limits { clock = 1 GHz from "a; b"; } // kept; whole\n'
    changed = with_figure(text, "limits", "clock", "2 GHz")
    assert "// kept; whole" in changed
    assert "a; b" not in changed
    assert parsed_machine(changed).limits.clock_mhz == 2000.0


def test_an_error_has_its_place_and_a_hint():
    view = machine_view(MINE + "limits {\n  clokc = 1 GHz;\n}\n")
    assert view["error"]["line"] == 3
    assert view["error"]["column"] == 3
    assert "clock" in f"{view['error']['message']} {view['error']['hint']}"
    assert machine_view("machine Mine like NoSuch;")["error"]["line"] == 1


@pytest.mark.parametrize("value", ["1 MHz; } limits { clock = 2 GHz", '"', "1\n2", "", "x" * 99])
def test_a_value_cannot_leave_its_setting(value):
    with pytest.raises(MachineError):
        with_figure(MINE, "limits", "clock", value)


def test_no_file_is_read_for_a_machine(tmp_path):
    (tmp_path / "base.msl").write_text(MINE)
    error = machine_view(f'machine M like "{tmp_path / "base.msl"}";')["error"]
    assert "bundled" in error["message"]
    assert error["line"] == 1
