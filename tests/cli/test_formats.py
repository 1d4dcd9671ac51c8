"""One way of printing for all commands: ``--format``, ``--json``, help and exit statuses."""

import json
import math

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from placewise.cli import guarded, options
from placewise.cli.main import COMMANDS, app
from placewise.report.formats import FORMATS, json_text

GROUP = get_command(app)
LEAVES = {
    **{name: c for name, c in GROUP.commands.items() if name != "machine"},
    **{f"machine {n}": c for n, c in GROUP.commands["machine"].commands.items()},
}


def test_formats_of_the_option_are_those_that_can_be_printed():
    assert [f.value for f in options.Format] == list(FORMATS)


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_json_and_an_example(name):
    command = LEAVES[name]
    flags = {flag for parameter in command.params for flag in parameter.opts}
    assert {"--json", "--format"} <= flags
    assert f"`placewise {name}" in command.epilog
    assert len(command.help.splitlines()[0]) <= 100
    assert all(p.help for p in command.params if p.name != "help")


@pytest.mark.parametrize(("name", "examples"), [(n, e) for n, (_, e) in COMMANDS.items()])
def test_examples_name_options_that_exist(name, examples):
    flags = {flag for parameter in LEAVES[name].params for flag in parameter.opts}
    for example in examples:
        words = example.split()
        assert words[0] == name
        assert {word for word in words if word.startswith("-")} <= flags


def test_statuses_in_help_are_those_of_the_program():
    shown = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    for status in (guarded.OUTPUT_LOST, guarded.BAD_INPUT, guarded.OWN_FAULT, options.FOUND, 130):
        assert f" {status} " in shown[shown.index("Exit status") :]


def test_json_has_no_infinities():
    data = {"a": [1.5, math.inf, -math.inf], "b": (math.nan, {"c": math.nan}), "d": "inf", "e": 1}
    assert json.loads(json_text(data)) == {
        "a": [1.5, None, None], "b": [None, {"c": None}], "d": "inf", "e": 1
    }  # fmt: skip
