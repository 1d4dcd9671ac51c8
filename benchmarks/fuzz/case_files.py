"""Hostile case files: damaged documents, damaged text, and launches that no GPU can do."""

from __future__ import annotations

import copy
import io
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.fuzz.examples import KERNEL, MATRIX, RICH_CASE, RICH_KERNEL, SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import (
    VALUES,
    WORDS,
    encoded,
    mutate_bytes,
    mutate_document,
    mutate_text,
)

# Not a grid of 2**31 - 1 blocks: to run so many takes minutes, as was asked for.
LAUNCHES: tuple[dict[str, Any], ...] = (
    {"grid": [2**63 - 1], "block": [64]},
    {"grid": [2**31], "block": [64]},
    {"grid": [65535, 65535, 65535], "block": [64]},
    {"grid": [1, 65536], "block": [64]},
    {"grid": [1, 1, 65536], "block": [64]},
    {"grid": [1], "block": [1025]},
    {"grid": [1], "block": [1, 1, 65]},
    {"grid": [1], "block": [32, 32, 2]},
    {"grid": [1], "block": [64], "shared_bytes": 2**30},
    {"grid": [1], "block": [64], "shared_bytes": 2**63 - 1},
    {"grid": [0], "block": [64]},
    {"grid": [1], "block": [0]},
    {"grid": [], "block": []},
    {"grid": [1, 1, 1, 1], "block": [64]},
    {"problem": ["n * n * n * n * n * n"], "block": [64]},
    {"problem": [10**12], "per_block": [10**12], "block": [64]},
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("run",),
    ("run", "--json"),
    ("run", "--check"),
    ("run", "--arch", "sm_90", "--json"),
    ("advise", "-m", "A100"),
    ("advise", "-m", "K20c", "--json"),
    ("machine-code", "-m", "A4000"),
    ("counters", "-m", "A4000", "--json"),
    ("lint", "-m", "A100"),
)
"""Commands that take a case."""
_WEIGHTS = (8, 4, 4, 2, 2, 1, 2, 1, 1)


def case_command(rng: Random, name: str = "case.toml") -> tuple[str, ...]:
    """A command for the case file ``name``; endless kernels are ended soon."""
    first, *options = rng.choices(COMMANDS, _WEIGHTS)[0]
    limit = ("--limit", "1000000") if first in ("run", "advise") else ()
    out = ("--out", "advice") if first == "advise" and rng.random() < 0.3 else ()
    return (first, name, *options, *limit, *out)


def rich_files() -> dict[str, bytes]:
    """What the rich case reads beside itself."""
    grey = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    png = io.BytesIO()
    grey.save(png, "PNG")
    return {
        "rich.cu": RICH_KERNEL.encode(),
        "kernel.cu": KERNEL.encode(),
        "matrix.mtx": MATRIX.encode(),
        "photo.png": png.getvalue(),
    }


def case_input(rng: Random) -> HostileInput:
    """A hostile case file."""
    files = rich_files()
    base = rng.choice((SMALL_CASE, RICH_CASE))
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            what, text = "document", toml(mutate_document(rng, base))
        case 4 | 5:
            what, text = "text", mutate_text(rng, toml(base))
        case 6:
            launch = rng.choice(LAUNCHES)
            what, text = f"launch {launch}", toml({**SMALL_CASE, "launch": launch})
        case 7:
            what, text = _argument(rng)
        case 8:
            what, text = _structure(rng)
        case _:
            files["case.toml"] = mutate_bytes(rng, toml(base).encode())
            return HostileInput("case", "bytes", case_command(rng), files)
    files["case.toml"] = encoded(rng, text)
    command = case_command(rng)
    if rng.random() < 0.03:
        command = (command[0], rng.choice([w for w in WORDS if "\0" not in w]), *command[2:])
        what = f"name of the case {command[1][:40]!r}"
    return HostileInput("case", what, command, files)


def _argument(rng: Random) -> tuple[str, str]:
    """An argument of another source of values, with a hostile value in it."""
    sources: list[dict[str, Any]] = [
        {"shape": ["n"], "uniform": {"low": 1, "high": 0, "seed": 1, "sorted": True}},
        {"shape": ["n"], "normal": {"mean": 1e308, "deviation": 1e308, "seed": 2**70}},
        {"shape": ["n"], "normal": {"mean": 0, "deviation": -1, "seed": -1}},
        {"shape": ["n"], "integers": {"low": -(2**63), "high": 2**63, "seed": 0}},
        {"shape": ["n"], "integers": {"low": 5, "high": 5, "seed": 0}},
        {"shape": ["n"], "arange": {"start": 2**62, "step": 2**62}},
        {"shape": [1] * 40, "fill": 0},
        {"shape": [2**20, 2**20, 2**20, 2**20], "fill": 0},
        {"shape": [2**33], "fill": 0},
        {"shape": [], "fill": 0},
        {"shape": ["n"], "fill": float("nan")},
        {"gaussian": {"radius": 2**40, "sigma": 1e-300}},
        {"gaussian": {"radius": 3, "sigma": 0.0}},
        {"values": [1] * 20_000},
        {"values": [[1, 2], [3]]},
        {"file": "photo.png"},
        {"file": "/dev/zero"},
        {"file": "~nouser/x.npy"},
        {"file": "a" * 300 + ".npy"},
        {"image": "photo"},
        {"pointer": {"array": "out", "element": 2**62}},
        {"pointers": ["x", {"array": "y", "element": -1}]},
        {"pointers": [""] * 70_000},
        {"struct": [{"name": "a", "dtype": "float64", "value": 1}] * 600},
        {"uninitialised": True, "shape": ["n", 0]},
        {"shape": ["n"], "fill": 1, "texture": {"geometry": "2d", "filter": "linear"}},
        {"shape": [2, 3, 4], "fill": 1, "texture": {"geometry": "cube", "border": [1e99]}},
        {"shape": ["n"], "fill": 1, "surface": {"geometry": "layered-cube"}},
    ]
    dtypes = ("float32", "float16", "bfloat16", "complex128", "bool", "int8", "uint64", "O", "V8")
    entry = {"name": "x", "dtype": rng.choice(dtypes), **rng.choice(sources)}
    case = copy.deepcopy(SMALL_CASE)
    case["images"] = {"photo": {"file": "photo.png"}}
    case["arguments"][0] = entry
    if rng.random() < 0.3:
        case = mutate_document(rng, case)
    return f"argument {str(entry)[:80]}", toml(case)


def _structure(rng: Random) -> tuple[str, str]:
    """What TOML and the reader of case files make of unusual size and nesting."""
    text = toml(SMALL_CASE)
    made = {
        "empty file": "",
        "deep arrays": "a = " + "[" * 5000 + "]" * 5000 + "\n" + text,
        "deep tables": "[" + ".".join("a" * 3000) + "]\nb = 1\n",
        "a long key": f"{'k' * 100_000} = 1\n" + text,
        "blank lines": "\n" * 500_000 + text,
        "many arguments": text.replace("arguments = [", "arguments = [" + _arguments(5000)),
        "many sizes": text.replace("n = 300", "n = 300, " + _sizes(20_000)),
        "no source": text.replace('source = "kernel.cu"', ""),
        "a folder as source": text.replace("kernel.cu", "."),
        "itself as source": text.replace("kernel.cu", "case.toml"),
        "code of no lines": text.replace('source = "kernel.cu"', 'code = ""'),
        "a name with markup": text.replace('"scale"', '"[red]scale[/blue]"'),
        "long includes": text + f'include = ["{"i" * 5000}"]\n',
        "hexahedra": text + 'matrices = { A = { generate = "hexahedra", nodes = [900, 900, 900], '
        "distortion = 0.1, seed = 1 } }\n",
        "a huge number": text.replace("300", "9" * 10_000),
        "a formula": text.replace('"n"]', f'"{"(" * 90}n{")" * 90}"]'),
        "powers": text.replace('"n"]', f'"{" * ".join(["n"] * 60)}"]'),
        "a date": text.replace("300", "1979-05-27T07:32:00Z"),
        "defines": text + f"defines = {{ {', '.join(f'D{n} = {n}' for n in range(9000))} }}\n",
        "a define of another name": text + 'defines = { "int" = "float", "a b" = 1, "" = 2 }\n',
        "flags": text
        + f"flags = {rng.choice((['--help'], ['-G'], ['-I/'], ['--x'] * 3000, ['']))}\n",
        "a compiler": text + f'nvrtc = "{rng.choice(("99", "", "../13", "13.0.0.0", "-1"))}"\n',
        "a value": text.replace(
            "fill = 0", f"fill = {rng.choice(('1e400', '-0', '9' * 400, 'nan'))}"
        ),
        "any value for a key": toml(
            {**SMALL_CASE, rng.choice(list(SMALL_CASE)): rng.choice(VALUES)}
        ),
    }
    what = rng.choice(list(made))
    return what, made[what]


def _arguments(count: int) -> str:
    return "".join(f'{{ name = "a{n}", dtype = "int32", value = 1 }}, ' for n in range(count))


def _sizes(count: int) -> str:
    return ", ".join(f"s{n} = {n}" for n in range(count))
