"""Whatever is put in the place of whatever in a case file: a case, or one located error."""

import copy
import datetime
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import placewise.cases
from placewise.cases import case_path
from placewise.errors import CaseError
from placewise.kernel.cases.case_file import case_from

FOLDER = Path(placewise.cases.__file__).parent
PATH = FOLDER / "mutated.toml"


def document(name):
    """A bundled case as its folder's parent would have it."""
    path = case_path(name)
    found = tomllib.loads(path.read_text())
    found["source"] = f"{path.parent.name}/{found['source']}"
    return found


def documents():
    """The bundled cases, made small, and one with the remaining sources of values."""
    spmv, matmul, rows, cfd, md, bfs = (
        document(name) for name in ("spmv", "matmul", "convolution-rows", "cfd", "md", "bfs")
    )
    spmv["matrices"]["A"]["nodes"] = [3, 3, 3]
    rows["images"]["photo"]["file"] = "data/dandelions.jpg"
    cfd["sizes"] = {"cells": 2, "depth": 1}
    md["sizes"] = {"atoms": 40, "listed": 5}
    bfs["sizes"]["nodes"] = 50
    matmul["sizes"]["n"] = 16
    matmul["constants"] = [{"name": "c", "dtype": "float32", "values": [1, 2.0, 3]}]
    matmul["defines"] = {"TILE": 4}
    matmul["arguments"] += [
        {
            "name": "i",
            "dtype": "int16",
            "shape": [3, "n"],
            "integers": {"low": -3, "high": "n", "seed": 3},
        },
        {"name": "a", "dtype": "float64", "shape": [4], "arange": {"start": 1, "step": 0.5}},
        {"name": "g", "dtype": "complex64", "shape": [2], "normal": {"seed": 1}},
    ]
    return [spmv, matmul, rows, cfd, md, bfs]


DOCUMENTS = documents()
KEYS = [
    "foo", "value", "fill", "shape", "file", "matrix", "dataset", "part", "stack",
     "image", "member", "grid", "generate",
]  # fmt: skip
NUMBERS = [0, -1, 2**31, 2**63, 2**70, -(2**63), 1.5, float("nan"), float("inf"), True]
TEXTS = ["", "n", "A", "A.rows", "photo.width", ".", "int32", "complex128", "\0", "graph", "points"]
FILES = ["data/dandelions.jpg", "/dev/null", "data"]
TABLES = [[], [1], [0], ["n"], [[1]], {}, {"a": 1}, datetime.date(2020, 1, 1)]
# Copied, since a second change may go into a table that the first one put in place.
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *FILES, *TABLES]).map(copy.deepcopy)


def places(node, above=()):
    """Paths of all keys and list entries below ``node``."""
    entries = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in entries:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


@st.composite
def mutated(draw):
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 2))):
        *above, key = draw(st.sampled_from(list(places(document))))
        node = document
        for step in above:
            node = node[step]
        change = draw(st.sampled_from(["replace", "replace", "delete", "add"]))
        if change == "delete":
            del node[key]
        elif change == "add" and isinstance(node, dict):
            node[draw(st.sampled_from(KEYS))] = draw(VALUES)
        else:
            node[key] = draw(VALUES)
    return document


@pytest.mark.parametrize("document", DOCUMENTS)
def test_unchanged_documents_are_read(document):
    assert case_from(document, PATH).inputs.arguments


@settings(max_examples=150, deadline=None)
@given(mutated())
def test_any_change_is_a_case_or_a_located_error(document):
    error = error_of(document)
    assert error is None or (error.where and "\n" not in error.message)


def error_of(document):
    try:
        case_from(document, PATH)
    except CaseError as error:
        return error
    return None
