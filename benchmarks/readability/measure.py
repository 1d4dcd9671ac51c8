"""Figures of a tree's source files: lines, folders, functions, docstrings."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TEXT = (".py", ".msl", ".lark", ".cu", ".h", ".toml", ".txt")
"""Endings of files that people read; C++ headers have none."""
_POINTS_BACK = """
the same|same as|of|as above|as before|
like that|like this|likewise|ditto|and(?!,)|but|or|nor|so|also|its other|the other|the others|
the rest|the latter|the former|another|others|such|it|they|them|those|these|this|that
"""
_ANAPHORIC = re.compile(rf"({_POINTS_BACK.replace(chr(10), '')})(?![\w'’])", re.IGNORECASE)
"""First words that point back to something that an editor's hover does not show."""
_BRANCHES = (
    ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.And, ast.Or,
    ast.comprehension, ast.match_case, ast.Assert,
)  # fmt: skip


@dataclass(frozen=True)
class Function:
    """One function or method."""

    place: str
    """``path:line name``."""
    lines: int
    """From its ``def`` to its end, the docstring left out."""
    parameters: int
    complexity: int
    """McCabe's: one more than the places where control may part."""
    commented: bool
    """Whether a comment on the ``def`` or right above it says why it is as it is."""


@dataclass(frozen=True)
class Tree:
    """Figures of one tree."""

    files: int
    lines: int
    folders: dict[str, int]
    """Loose Python modules of each folder."""
    module_lines: dict[str, int]
    functions: tuple[Function, ...]
    docstrings: int
    anaphoric: tuple[str, ...]
    """Docstrings whose first words point back to something that a hover does not show."""


def measure(root: Path) -> Tree:
    """Read every source file below ``root``."""
    files = [p for p in sorted(root.rglob("*")) if p.is_file() and is_source(p)]
    modules = [p for p in files if p.suffix == ".py"]
    texts = {p: p.read_text(encoding="utf-8") for p in files}
    functions: list[Function] = []
    anaphoric: list[str] = []
    documented = 0
    for path in modules:
        name, lines = str(path.relative_to(root)), texts[path].splitlines()
        parsed = ast.parse(texts[path])
        functions += [function(n, name, lines) for n in ast.walk(parsed) if is_function(n)]
        for line, text in docstrings(parsed):
            documented += 1
            if _ANAPHORIC.match(text.strip()):
                anaphoric.append(f"{name}:{line} {text.strip().splitlines()[0]}")
    return Tree(
        len(files),
        sum(len(t.splitlines()) for t in texts.values()),
        Counter(str(p.parent.relative_to(root)) for p in modules if p.stem != "__init__"),
        {str(p.relative_to(root)): len(texts[p].splitlines()) for p in modules},
        tuple(functions),
        documented,
        tuple(anaphoric),
    )


def is_source(path: Path) -> bool:
    """Whether people read it: neither data nor something that a tool left."""
    hidden = any(part.startswith((".", "__pycache__")) for part in path.parts)
    text = path.suffix in TEXT or path.parent.name == "headers"
    return text and not hidden and ".egg-info" not in str(path)


def is_function(node: ast.AST) -> bool:
    """Whether ``node`` defines a function or method."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of every docstring: of modules, classes and functions, and the strings that
    stand below an assignment and describe it."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                yield statement.lineno, statement.value.value


def function(node: ast.AST, name: str, lines: list[str]) -> Function:
    """The figures of one function definition."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    documented = ast.get_docstring(node, clean=False) is not None
    first = node.body[0]
    text = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    own = [n for n in ast.walk(node) if n is not node]
    inner = {id(m) for n in own if is_function(n) for m in ast.walk(n)}
    arguments = node.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    head = lines[max(top - 2, 0) : first.lineno]
    return Function(
        f"{name}:{node.lineno} {node.name}",
        (node.end_lineno or node.lineno) - node.lineno + 1 - text,
        sum(a.arg not in ("self", "cls") for a in every),
        1 + sum(isinstance(n, _BRANCHES) for n in own if id(n) not in inner),
        any("# " in line for line in head),
    )
