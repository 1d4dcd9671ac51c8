"""A first guess at the launch and inputs of a kernel that was pasted."""

from __future__ import annotations

import re
from typing import Any

_KERNEL = re.compile(
    r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_DTYPES = {
    "float": "float32", "double": "float64", "int": "int32", "unsigned": "uint32",
    "unsigned int": "uint32", "char": "int8", "unsigned char": "uint8", "short": "int16",
    "unsigned short": "uint16", "long": "int64", "long long": "int64", "size_t": "uint64",
    "unsigned long": "uint64", "unsigned long long": "uint64", "bool": "bool", "half": "float16",
    "__half": "float16", "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16",
    "uint16_t": "uint16", "int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64",
    "uint64_t": "uint64",
}  # fmt: skip
_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|restrict|__grid_constant__)\b")
ELEMENTS = 1 << 20
"""Number of elements of each array, and of the problem, in a draft."""


def draft(source: str) -> dict[str, Any]:
    """The kernels that ``source`` seems to have, each with arguments to start from. It is a guess
    that fills a form, which the user checks; only the compiler really reads the source."""
    text = _COMMENT.sub(" ", source)
    kernels = []
    for name, parameters in _KERNEL.findall(text):
        parts = [p.strip() for p in parameters.split(",") if p.strip()]
        kernels.append({"kernel": name, "arguments": [_argument(p) for p in parts]})
    return {"kernels": kernels, "problem": [ELEMENTS], "block": [256]}


def _argument(parameter: str) -> dict[str, Any]:
    words = " ".join(_QUALIFIERS.sub(" ", parameter).replace("*", " * ").split())
    pointer = "*" in words
    kind, _, name = words.replace("*", " ").strip().rpartition(" ")
    dtype = _DTYPES.get(" ".join(kind.split()), "float32" if pointer else "int32")
    if not pointer:
        whole = dtype.startswith(("int", "uint"))
        filling = {"kind": "value", "value": ELEMENTS if whole else 1}
        return {"name": name, "dtype": dtype, "shape": None, "filling": filling}
    read = "const" in parameter.split("*")[0]
    filling = {"kind": "uniform" if dtype.startswith("float") else "integers", "low": 0, "high": 1}
    if not read:
        filling = {"kind": "fill", "value": 0}
    elif not dtype.startswith("float"):
        filling["high"] = 1024
    return {"name": name, "dtype": dtype, "shape": [ELEMENTS], "filling": filling}
