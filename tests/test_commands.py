"""Continuous integration runs what the README tells a stranger to run, and nothing before it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CI = (ROOT / ".ci" / "run").read_text()
BOOKKEEPING = re.compile(r"set |cd |own=\$\(mktemp -d\)$|trap |export VENV=\S+ XDG_CACHE_HOME=\S+$")
"""Lines of the script that prepare nothing that a command needs: an empty folder, and clean-up."""


def targets():
    lines = [line for line in CI.splitlines() if line and not line.startswith("#")]
    return [line for line in lines if not BOOKKEEPING.match(line)]


def test_ci_calls_make_and_nothing_else():
    assert targets()
    assert all(re.fullmatch(r"make [a-z-]+", line) for line in targets())


def test_the_readme_names_every_command_of_ci():
    readme = (ROOT / "README.md").read_text()
    assert [t for t in targets() if t not in readme] == []


def test_every_command_of_the_readme_is_a_target():
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)\b(?!-)", (ROOT / "README.md").read_text()))
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    benches = {f"bench-{p.stem}" for p in (ROOT / "benchmarks").iterdir()}
    assert {"demo", "test"} <= named
    assert named <= known | benches


def test_tests_install_the_compilers_that_they_use():
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^test: develop$", makefile, re.MULTILINE)
    lock = (ROOT / "requirements-dev.lock").read_text()
    for wheel in ("nvidia-cuda-nvrtc-cu12==12.9", "nvidia-cuda-nvrtc-cu11==11.8"):
        assert wheel in lock


def test_every_locked_file_has_a_hash():
    for lock in ROOT.glob("requirements*.lock"):
        entries = re.split(r"\n(?=\S)", lock.read_text().strip())
        assert entries
        assert all("--hash=sha256:" in entry for entry in entries), lock
