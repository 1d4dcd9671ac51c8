"""Every command and every Python block of the README and the documentation runs as it is printed.

A page's examples run in one folder, in their order, beside copies of ``docs/examples``. A command
that needs a GPU is marked ``# needs a GPU`` on its page: without one it must end in one clear
error.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

from placewise.cli.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("[!_]*.md"))]
LONG = {
    "first-result", "layout", "msl", "papers", "probe", "profile", "programs", "reports", "sweep",
    "time", "tune", "validate",
}  # fmt: skip
"""Pages whose examples take seven seconds and more; README and your-own-kernel stay."""
NEEDS_GPU = "# needs a GPU"
ELSEWHERE = {"make", "pip", "git", "python3", "cd"}
"""Programs of set-up commands: ``make`` targets are compared with the Makefile, none is run
here."""


def run_commands(example: Example) -> None:
    """Run the lines of a console block that begin with ``$``."""
    for line in example.parsed.splitlines():
        if line.startswith("$ "):
            run(line.removeprefix("$ "))


def run(line: str) -> None:
    """Run one ``placewise`` command; the exit code must be 0, or 1 where the page says so."""
    words = shlex.split(line, comments=True)
    words[0] = words[0].removeprefix(".venv/bin/")
    if words[0] in ELSEWHERE:
        check_target(words)
        return
    assert words[0] == "placewise", f"{line}: no command of Placewise"
    out = Path(words[words.index(">") + 1]) if ">" in words else None
    arguments = words[1 : words.index(">")] if out else words[1:]
    status, printed, errors = placewise(arguments)
    if out:
        out.write_text(printed)
    if NEEDS_GPU in line:
        assert status != 0
        assert "GPU" in errors
        assert "Traceback" not in errors
        return
    asked = re.search(r"# exits with (\d)", line)
    assert status == (int(asked[1]) if asked else 0), f"{line}\n{errors}"


def placewise(arguments: list[str]) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of the program."""
    printed, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["placewise", *arguments])
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            try:
                main()
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return status, printed.getvalue(), errors.getvalue()


def check_target(words: list[str]) -> None:
    """A ``make`` command names a target of the Makefile, or a benchmark."""
    if words[0] != "make":
        return
    makefile = (ROOT / "Makefile").read_text()
    for target in words[1:]:
        if "=" in target:
            continue
        if target.startswith("bench-"):
            name = target.removeprefix("bench-")
            assert any((ROOT / "benchmarks" / n).exists() for n in (name, f"{name}.py")), target
        else:
            known = re.findall(r"^([a-z-]+)(?:%)?:", makefile, re.MULTILINE)
            assert any(target == k or (k.endswith("-") and target.startswith(k)) for k in known)


DOCUMENTATION = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        CodeBlockParser(language="console", evaluator=run_commands),
    ]
)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, id=str(p.relative_to(ROOT)), marks=[pytest.mark.slow] * (p.stem in LONG))
        for p in PAGES
    ],
)
def test_examples_of_a_page(page, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for example in DOCUMENTATION.parse(page).examples():
        example.evaluate()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_stands_in_a_block_that_is_run(page):
    text = page.read_text()
    blocks = re.findall(r"^```(\S*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for language, body in blocks:
        if re.search(r"^(\$ |\.venv/bin/)?(placewise|make) [a-z]", body, re.MULTILINE):
            assert language == "console", body
            assert re.search(r"^\$ ", body, re.MULTILINE), body


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page):
    roots = (ROOT, ROOT / "src" / "placewise", ROOT / "src", EXAMPLES, ROOT / "tests")
    for name in re.findall(r"`([a-z_]+(?:/[a-z0-9_]+)+(?:\.py|/))`", page.read_text()):
        assert any((root / name).exists() for root in roots), name
