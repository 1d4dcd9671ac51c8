"""Tests mirror the package, and every test file has a name of its own."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "placewise"
OTHERS = {"benchmarks", "docs", "executor/kernels"}
"""Folders of tests that no folder of the package belongs to: those of benchmarks, of the
documentation, and of whole kernels on the executor."""


def test_every_folder_of_tests_is_one_of_the_package():
    folders = {p.parent.relative_to(TESTS).as_posix() for p in TESTS.rglob("test_*.py")}
    assert {f for f in folders - OTHERS if not (PACKAGE / f).is_dir()} == set()


def test_no_two_test_files_have_the_same_name():
    # pytest imports test files by their base names.
    names = Counter(p.name for p in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
