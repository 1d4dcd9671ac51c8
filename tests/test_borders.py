"""Imports point only backwards along the pipeline, and values stay where they belong."""

import ast
from pathlib import Path

import pytest

import placewise

ROOT = Path(placewise.__file__).parent
LINE = [
    "errors",
    "helper_process",
    "forked_workers",
    "interrupts",
    "output_file",
    "progress",
    "disk_cache",
    "dataframe",
    "short_repr",
    "notebook",
    "compiled_code",
    "schemas",
    "space",
    "machine",
    "kernel",
    "cases",
    "recorded",
    "executor",
    "memory",
    "probe",
    "model",
    "choose",
    "rewriter",
    "advisor",
    "validate",
    "sweep",
    "reproduce",
    "doctor",
    "report",
    "studio",
    "cli",
]
ASIDE = {"gpu": "advisor", "runtime": "advisor"}
"""Folders beside the line, with the last stage that they may know."""
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.parent != ROOT)


def imported_stages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            parts = module.split(".")
            if parts[0] == "placewise" and len(parts) > 1:
                names.add(parts[1])
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_backwards(path):
    stage = path.relative_to(ROOT).parts[0]
    last = LINE.index(ASIDE.get(stage, stage))
    allowed = {*LINE[: last + 1], stage}
    if stage == "cli":
        allowed |= set(ASIDE)
    if stage == "runtime":
        allowed.add("gpu")
    assert imported_stages(path) <= allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_input_is_evaluated_and_no_shell_is_asked(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec"})
            assert not any(
                k.arg in {"shell", "allow_pickle"} and getattr(k.value, "value", True)
                for k in node.keywords
            )


def test_modules_stay_readable():
    long = {
        str(p.relative_to(ROOT)): n for p in MODULES if (n := len(p.read_text().splitlines())) > 440
    }
    assert not long


FRONT_ENDS = {"lower_ptx", "lower_sass"}
FORBIDDEN_IN_EXECUTE = {
    "ir": {"passes", "lowering", *FRONT_ENDS},
    "passes": {"lowering", *FRONT_ENDS},
    "lowering": FRONT_ENDS,
    "lower_ptx": {"lower_sass"},
    "lower_sass": {"lower_ptx"},
}
"""Folders of ``execute`` that a folder beside them must not import: both front ends stand on one
lowering library, and nothing below them knows either."""


@pytest.mark.parametrize("folder", FORBIDDEN_IN_EXECUTE)
def test_front_ends_share_a_library_and_not_each_other(folder):
    for path in (ROOT / "executor" / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = node.module.split(".")
                if parts[:2] == ["placewise", "executor"] and len(parts) > 2:
                    assert parts[2] not in FORBIDDEN_IN_EXECUTE[folder], path
