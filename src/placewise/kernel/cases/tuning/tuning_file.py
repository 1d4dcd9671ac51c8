"""Tuning problems in the T1 format, as KTT and Kernel Tuner read them, turned into case files.

The format is that of "Tuning format" (``TuningSchema.json``, T1 1.0.0). Nothing in a file is
evaluated as code: generators and scripts are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from placewise.errors import CaseError, UnsupportedError, reading
from placewise.kernel.cases.case_model import SCHEMA
from placewise.kernel.cases.tuning.tuning_conditions import Condition, nearest_valid
from placewise.kernel.cases.tuning.tuning_values import (
    line_of_generator,
    listed_values,
    resolved_size,
)
from placewise.kernel.frontends.nvrtc_options import parse_options

_TYPES = {
    "bool": "bool", "half": "float16", "float": "float32", "double": "float64",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_VECTOR = re.compile(r"(half|float|double)(2|4|8|16)$")
_AXES = ("X", "Y", "Z")


def tuning_document(path: Path) -> dict[str, Any]:
    """The document of a case file that says what the T1 file ``path`` says.

    Parameters have their defaults as far as the conditions hold with them, else the first of their
    values with which they do; ``description`` says which defaults are not kept.
    Arguments go by their order, as the tuners pass them. Raises CaseError located at the file and
    the key, UnsupportedError for what a case cannot be (OpenCL, data that a script makes).
    """
    with reading("JSON file", path, CaseError):
        read = json.loads(path.read_text(encoding="utf-8-sig"))
    with reading("tuning problem in the T1 format", path, CaseError):
        return _File(path).document(read)


def tuning_space(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    """(values of each parameter, conditions) of the T1 file ``path``. Raises CaseError located at
    the file and the key."""
    with reading("JSON file", path, CaseError):
        read = json.loads(path.read_text(encoding="utf-8-sig"))
    with reading("tuning problem in the T1 format", path, CaseError):
        return _File(path).space(read)


class _File:
    """One file being read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problem: list[Any] = []
        self._choices: dict[str, list[Any]] = {}

    def document(self, read: Any) -> dict[str, Any]:
        kernel = self._part(read, "KernelSpecification")
        language = self._text(kernel, "Language", "KernelSpecification")
        if language != "CUDA":
            raise UnsupportedError(
                f"the kernel is {language}, only CUDA is covered",
                where=f"{self._path}: KernelSpecification.Language",
            )
        space = self._part(read, "ConfigurationSpace")
        parameters, changed = self._parameters(space)
        problem = kernel.get("ProblemSize") or ()
        self._problem = problem if isinstance(problem, list) else [problem] if problem else []
        options = parse_options(
            kernel.get("CompilerOptions") or (),
            arch="sm_80",
            where=f"{self._path}: KernelSpecification.CompilerOptions",
        )
        arguments = self._entries(kernel, "Arguments")
        launch, shared = self._launch(kernel), [kernel.get("SharedMemory") or 0]
        given: dict[str, list[dict[str, Any]]] = {"arguments": [], "constants": []}
        for number, entry in enumerate(arguments):
            key = f"KernelSpecification.Arguments.{entry.get('Name', number + 1)}"
            if entry.get("MemoryType") == "Local":
                dtype, width = self._dtype(entry, key)
                shared.append(f"{_bytes(dtype) * width} * ({self._size(entry, key)})")
                continue
            made = self._argument(entry, number, key)
            if entry.get("MemoryType") == "Symbol":
                given["constants"].append(made)
                continue
            # Kernel Tuner passes what it copies into constant memory as an argument, too.
            given["arguments"].append(made)
            if entry.get("MemType") == "Constant":
                given["constants"].append(made)
        return {
            "schema": SCHEMA,
            "description": "; ".join(filter(None, (self._title(read), changed))),
            "kernel": self._text(kernel, "KernelName", "KernelSpecification"),
            "source": self._text(kernel, "KernelFile", "KernelSpecification"),
            "std": options.std,
            "defines": dict(options.defines),
            "include": [str(p) for p in options.include_paths],
            "flags": list(options.flags),
            "parameters": parameters,
            "launch": {**launch, "shared_bytes": " + ".join(f"({s})" for s in shared)},
            "in_order": True,
            **given,
        }

    def space(self, read: Any) -> tuple[dict[str, list[Any]], list[str]]:
        space = self._part(read, "ConfigurationSpace")
        parameters = self._entries(space, "TuningParameters")
        above = "ConfigurationSpace.TuningParameters"
        choices = {self._text(p, "Name", above): self._values(p) for p in parameters}
        where = "ConfigurationSpace.Conditions"
        return choices, [
            self._text(c, "Expression", where) for c in self._entries(space, "Conditions")
        ]

    def _launch(self, kernel: dict[str, Any]) -> dict[str, Any]:
        """Kernel Tuner's problem size and divisors where they are there, else the global size."""
        key = "KernelSpecification"
        block = self._extent(self._part(kernel, "LocalSize", key), f"{key}.LocalSize")
        if self._problem:
            per_block = [
                _product(kernel.get(f"GridDiv{axis}"), size)
                for axis, size in zip(_AXES, block, strict=False)
            ]
            return {
                "problem": [_whole(size) for size in self._problem],
                "per_block": per_block[: len(self._problem)],
                "block": block,
            }
        size = self._extent(self._part(kernel, "GlobalSize", key), f"{key}.GlobalSize")
        # CUDA's global size counts blocks, the others' counts threads.
        what = "grid" if kernel.get("GlobalSizeType", "CUDA") == "CUDA" else "problem"
        return {what: size, "block": block}

    def _argument(self, entry: dict[str, Any], number: int, key: str) -> dict[str, Any]:
        dtype, width = self._dtype(entry, key)
        name = entry.get("Name") or f"argument{number + 1}"
        made: dict[str, Any] = {"name": name, "dtype": dtype}
        scalar, fill = entry.get("MemoryType") == "Scalar", entry.get("FillType")
        value = self._fill_value(entry, dtype, key) if scalar or "FillValue" in entry else 1
        if scalar:
            return {**made, "value": value}
        size = self._size(entry, key)
        made["shape"] = [size] if width == 1 else [size, width]
        if fill == "Constant":
            value = self._fill_value(entry, dtype, key)
            return {**made, "fill": bool(value) if dtype == "bool" else value}
        if fill == "Random":
            seed = entry.get("RandomSeed", number)
            if dtype.startswith("float"):
                return {**made, "uniform": {"high": float(value), "seed": seed}}
            return {**made, "integers": {"high": int(value), "seed": seed}}
        if fill == "Generator" and (line := line_of_generator(str(entry.get("DataSource")))):
            whole = not dtype.startswith("float")
            start, step = (int(v) if whole else v for v in line)
            return {**made, "arange": {"start": start, "step": step}}
        if fill is None and entry.get("AccessType") == "WriteOnly":
            return {**made, "uninitialised": True}
        raise UnsupportedError(
            f"data of FillType {fill!r} ({entry.get('DataSource')}) cannot be made here",
            where=f"{self._path}: {key}",
            hint="save it with numpy.save and write a case file (docs/reference/cases.md)",
        )

    def _fill_value(self, entry: dict[str, Any], dtype: str, key: str) -> float:
        value = entry.get("FillValue")
        if not isinstance(value, int | float):
            what = "is missing" if value is None else f"{value!r} is no number"
            raise CaseError(what, where=f"{self._path}: {key}.FillValue")
        # JSON's numbers are written with a fraction whatever they are for.
        whole = not dtype.startswith("float") and float(value).is_integer()
        return int(value) if whole else value

    def _dtype(self, entry: dict[str, Any], key: str) -> tuple[str, int]:
        """Name of the element type, and how many of them an element of a vector type has."""
        name = str(entry.get("Type"))
        found = _VECTOR.match(name)
        base, width = (found[1], int(found[2])) if found else (name, 1)
        if base not in _TYPES:
            known = ", ".join(_TYPES)
            raise CaseError(
                f"the type {name!r} is not known", where=f"{self._path}: {key}.Type", hint=known
            )
        return _TYPES[base], width

    def _size(self, entry: dict[str, Any], key: str) -> Any:
        if "Size" not in entry:
            raise CaseError("is missing", where=f"{self._path}: {key}.Size")
        try:
            return _whole(resolved_size(entry["Size"], self._problem, self._choices))
        except ValueError as error:
            raise CaseError(str(error), where=f"{self._path}: {key}.Size") from None

    def _parameters(self, space: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """The valid configuration nearest to the defaults, and which of these are not kept."""
        above = "ConfigurationSpace.TuningParameters"
        defaults: dict[str, Any] = {}
        for parameter in self._entries(space, "TuningParameters"):
            name = self._text(parameter, "Name", above)
            if "Default" in parameter:
                defaults[name] = parameter["Default"]
            self._choices[name] = self._values(parameter)
        where = f"{self._path}: ConfigurationSpace.Conditions"
        try:
            conditions = [
                Condition(self._text(c, "Expression", "ConfigurationSpace.Conditions"))
                for c in self._entries(space, "Conditions")
            ]
            found = nearest_valid(self._choices, defaults, conditions)
        except ValueError as error:
            raise CaseError(str(error), where=where) from None
        if found is None:
            raise CaseError("no values of the parameters satisfy them all", where=where)
        changed = [
            f"{name} = {found[name]} in place of {value}"
            for name, value in defaults.items()
            if found[name] != value
        ]
        return found, f"defaults break the conditions: {', '.join(changed)}" if changed else ""

    def _title(self, read: dict[str, Any]) -> str:
        general = read.get("General")
        return str(general.get("BenchmarkName") or "") if isinstance(general, dict) else ""

    def _values(self, parameter: dict[str, Any]) -> list[Any]:
        """Values to try; the default alone, where the list cannot be read."""
        values = parameter.get("Values")
        try:
            if isinstance(values, list) and values:
                return values
            return listed_values(str(values))
        except ValueError:
            if "Default" in parameter:
                return [parameter["Default"]]
            raise CaseError(
                f"the values {str(values)!r} are neither a list nor a range",
                where=f"{self._path}: ConfigurationSpace.TuningParameters.{parameter.get('Name')}",
                hint="give the parameter a Default",
            ) from None

    def _extent(self, sizes: dict[str, Any], key: str) -> list[int | str]:
        if "X" not in sizes:
            raise CaseError("is missing", where=f"{self._path}: {key}.X")
        return [_whole(sizes[axis]) for axis in _AXES if axis in sizes]

    def _part(self, whole: Any, name: str, above: str = "") -> dict[str, Any]:
        found = whole.get(name) if isinstance(whole, dict) else None
        if not isinstance(found, dict):
            where = f"{above}.{name}" if above else name
            hint = None if above else "a .json case is a tuning problem in the T1 format"
            raise CaseError("is missing", where=f"{self._path}: {where}", hint=hint)
        return found

    def _entries(self, whole: dict[str, Any], name: str) -> list[dict[str, Any]]:
        found = whole.get(name, [])
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise CaseError("is not a list of objects", where=f"{self._path}: {name}")
        return found

    def _text(self, whole: dict[str, Any], name: str, above: str) -> str:
        found = whole.get(name)
        if not isinstance(found, str):
            raise CaseError("is missing", where=f"{self._path}: {above}.{name}")
        return found


def _whole(size: Any) -> Any:
    """A size as case files write it; numbers come as text, too."""
    text = str(size).strip()
    return int(text) if text.isdecimal() else size


def _product(divisors: Sequence[Any] | None, block: int | str) -> int | str:
    """What one block covers along an axis: Kernel Tuner divides by all divisors, or by the block's
    own size."""
    if divisors is None:
        return block
    return " * ".join(f"({d})" for d in divisors) or "1"


def _bytes(dtype: str) -> int:
    return 1 if dtype == "bool" else int(re.sub(r"\D", "", dtype)) // 8
