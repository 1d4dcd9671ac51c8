"""Conditions of tuning problems."""

import itertools
import json

import pytest

from placewise.errors import CaseError
from placewise.kernel.cases.tuning.tuning_conditions import Condition, first_valid
from placewise.kernel.cases.tuning.tuning_file import tuning_document

VALUES = {"x": 32, "y": 4, "mode": "fast", "on": True}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("x * y >= 128", True),
        ("x * y >= 128 and y > 4", False),
        ("x*y >= 128 && !(y > 4)", True),
        ("y > 4 || on", True),
        ("x != 32", False),
        ("16 <= x < 64", True),
        ("16 <= x < 32", False),
        ("x % 32 == 0 and x // y == 8 and x / y == 8.0 and -y < 0", True),
        ("mode == 'fast'", True),
        ("x in (16, 32) and y not in [1, 2]", True),
        ("not on", False),
        ("1 < 2", True),
    ],
)
def test_what_holds(text, holds):
    assert Condition(text).holds(VALUES) is holds


@pytest.mark.parametrize(
    "text",
    [
        "x >", "", "__import__('os')", "x.real > 1", "x ** 99 > 1", "[i for i in (1, 2)]", "z > 1",
        "x / 0 > 1", "x < mode", "lambda: 1",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        Condition(text).holds(VALUES)


def test_the_first_valid_values_in_order():
    choices = {"a": range(5), "b": [3, 1, 2], "c": [0, 1]}
    conditions = [Condition("a * b > 4"), Condition("c == 1 or b == 9"), Condition("a + c != 4")]
    expected = next(
        dict(zip(choices, values, strict=True))
        for values in itertools.product(*choices.values())
        if values[0] * values[1] > 4
        and (values[2] == 1 or values[1] == 9)
        and values[0] + values[2] != 4
    )
    assert first_valid(choices, conditions) == expected
    assert first_valid(choices, [Condition("a > 7")]) is None
    assert first_valid(choices, [Condition("1 > 2")]) is None


def problem(folder, parameters, *conditions):
    path = folder / "problem.json"
    text = {
        "ConfigurationSpace": {
            "TuningParameters": parameters,
            "Conditions": [{"Expression": c, "Parameters": []} for c in conditions],
        },
        "KernelSpecification": {
            "Language": "CUDA",
            "KernelName": "k",
            "KernelFile": "k.cu",
            "GlobalSize": {"X": 1},
            "LocalSize": {"X": 1},
        },
    }
    path.write_text(json.dumps(text))
    return path


A = {"Name": "a", "Type": "int", "Values": "[1, 2, 4]"}
B = {"Name": "b", "Type": "int", "Values": "list(range(8, 0, -2))"}


def test_a_problem_starts_from_a_valid_configuration(tmp_path):
    found = tuning_document(problem(tmp_path, [A, B], "a * b == 16"))
    assert found["parameters"] == {"a": 2, "b": 8}
    assert tuning_document(problem(tmp_path, [A, B]))["parameters"] == {"a": 1, "b": 8}


@pytest.mark.parametrize(
    ("parameters", "condition", "message"),
    [
        ([A, B | {"Default": 8}], "a * b == 13", "no values"),
        ([A], "a < c", "no parameter 'c'"),
        ([A], "a <", "is no condition"),
        ([{"Name": "a", "Values": "list(range(3, 3))"}], "a < 1", "neither a list nor a range"),
    ],
)
def test_bad_conditions_are_located(tmp_path, parameters, condition, message):
    with pytest.raises(CaseError, match=message) as caught:
        tuning_document(problem(tmp_path, parameters, condition))
    assert "ConfigurationSpace" in str(caught.value)
