"""Hostile measurements: profilers' counters, tuners' tables, microbenchmarks, tuning problems."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.fuzz import measured_examples as examples
from benchmarks.fuzz.case_files import case_command, rich_files
from benchmarks.fuzz.examples import SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import (
    NUMBERS,
    WORDS,
    encoded,
    mutate_bytes,
    mutate_document,
    mutate_text,
)

_EXPRESSIONS = (
    "'a' * 9999999999",
    "'%999999999d' % TILE < 'a'",
    "[0] * 10 ** 9 == []",
    "TILE ** 9 ** 9 ** 9 > 0",
    "TILE <",
    "__import__('os').getcwd() == 1",
    "TILE.real > 0",
    "lambda: 1",
    "(" * 5000 + "1" + ")" * 5000,
    "TILE < 9 and " * 3000 + "True",
    "not " * 5000 + "True",
    "1 << 10 ** 10 > 0",
    "f'{TILE:999999999}' < ''",
    "TILE in [1, 2]",
    "nosuch > 1",
    "TILE < 'a'",
    "TILE / 0 > 1",
    "{1: 2}[1]",
    "[x for x in range(10 ** 9)]",
    "TILE == True",
    "HOW == 'a'",
    "1 < TILE < 99",
    "",
    "\n",
    "TILE if TILE else 0",
    "TILE % 0",
    "é > 1",
    "9" * 5000 + " > 1",
)


def measured_input(rng: Random) -> HostileInput:
    """A hostile file of measurements, for a command that reads such a file."""
    make = rng.choice(
        (_counters, _counters, _times, _times, _problem, _problem, _topology, _curve, _events)
    )
    return make(rng)


def _input(what: str, command: tuple[str, ...], name: str, data: bytes) -> HostileInput:
    files = {
        **rich_files(),
        "case.toml": toml(SMALL_CASE).encode(),
        "tuned.toml": toml(examples.tuned_case()).encode(),
        name: data,
    }
    return HostileInput("measured", what, command, files)


def _document(rng: Random, document: Any) -> bytes:
    """``document`` with hostile values, as JSON; or its text damaged, or nested too deep."""
    match rng.randrange(8):
        case 0:
            return encoded(rng, mutate_text(rng, json.dumps(document, indent=1)))
        case 1:
            return mutate_bytes(rng, json.dumps(document).encode())
        case 2:
            deep = rng.choice((500, 100_000))
            return rng.choice(
                ("[" * deep, '{"a":' * deep, "[" * deep + "]" * deep, "", "null", "[]", "3", '"a"')
            ).encode()
        case _:
            return encoded(rng, json.dumps(mutate_document(rng, document)))


def _table(rng: Random, text: str) -> bytes:
    """CSV with hostile cells, rows, columns or quotes."""
    match rng.randrange(7):
        case 0:
            return encoded(rng, mutate_text(rng, text))
        case 1:
            return mutate_bytes(rng, text.encode())
        case 2:
            return encoded(
                rng,
                rng.choice(
                    (
                        "",
                        ",",
                        "\n" * 1000,
                        text * 2000,
                        text.replace(",", ";"),
                        text.replace(",", "\t"),
                        text.split("\n")[0],
                        '"' + text,
                        text.replace('"', ""),
                        "a" * 300_000 + "\n" + text,
                        ("a," * 50_000 + "\n") * 3,
                        text + '"' * 999,
                    )
                ),
            )
        case _:
            rows = list(csv.reader(io.StringIO(text)))
            for _ in range(rng.choice((1, 1, 2, 5))):
                row = rng.choice([row for row in rows if row])
                row[rng.randrange(len(row))] = rng.choice((*NUMBERS, *NUMBERS, *WORDS))
            out = io.StringIO()
            csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
            return encoded(rng, out.getvalue())


def _packed(rng: Random, name: str, data: bytes) -> tuple[str, bytes]:
    """Now and then compressed, or called so."""
    match rng.randrange(12):
        case 0:
            return name + ".gz", gzip.compress(data, mtime=0)
        case 1:
            return name + ".gz", mutate_bytes(rng, gzip.compress(data, mtime=0))
        case 2:
            return name + ".gz", gzip.compress(data, mtime=0) * 3 + b"\0"
        case 3 if rng.random() < 0.3:
            return name + ".gz", gzip.compress(data + b"\n" * 500_000_000, 1, mtime=0)
        case _:
            return name, data


def _counters(rng: Random) -> HostileInput:
    formats: tuple[tuple[str, Callable[[], bytes]], ...] = (
        ("a.csv", lambda: _table(rng, examples.NCU_DETAILS)),
        ("a.csv", lambda: _table(rng, examples.NCU_RAW)),
        ("a.csv", lambda: _table(rng, examples.TABLE)),
        ("a.json", lambda: _document(rng, examples.KTT)),
        ("a.json", lambda: _document(rng, examples.TUNER_CACHE)),
        ("a.ncu-rep", lambda: mutate_bytes(rng, examples.ncu_report())),
    )
    name, make = rng.choice(formats)
    name, data = _packed(rng, name, make())
    row = ("--row", str(rng.choice((0, 0, 0, 1, 10**9))))
    row = row if rng.random() < 0.8 else ()
    command = rng.choice(
        (
            ("counters", "case.toml", "-m", "A100", "--json"),
            ("counters", "case.toml", "-m", "A100"),
            ("advise", "case.toml", "-m", "A100", "--json"),
            ("advise", "case.toml", "-m", "A100"),
        )
    )
    return _input(f"counters {name}", (*command, "--measured", name, *row), name, data)


def _times(rng: Random) -> HostileInput:
    formats: tuple[tuple[str, Callable[[], bytes]], ...] = (
        ("t.csv", lambda: _table(rng, examples.TABLE)),
        ("t.json", lambda: _document(rng, examples.KTT)),
        ("t.json", lambda: _document(rng, examples.TUNER_CACHE)),
        ("t.json", lambda: _document(rng, examples.T4)),
    )
    name, make = rng.choice(formats)
    name, data = _packed(rng, name, make())
    more: tuple[str, ...] = ("--time", "time") if name.startswith("t.csv") else ()
    model = (
        ("--model", rng.choice(("roofline", "path", "timeline", "nosuch")))
        if rng.random() < 0.7
        else ()
    )
    command = ("validate", name, "--case", "tuned.toml", "-m", "A100", *more, *model)
    return _input(
        f"times {name}", (*command, "--json") if rng.random() < 0.5 else command, name, data
    )


def _problem(rng: Random) -> HostileInput:
    document = json.loads(json.dumps(examples.T1))
    expression = rng.choice(_EXPRESSIONS)
    match rng.randrange(5):
        case 0 | 1:
            data, what = _document(rng, document), "problem"
        case 2:
            document["ConfigurationSpace"]["Conditions"][0]["Expression"] = expression
            what = f"condition {expression[:40]!r}"
            data = json.dumps(document).encode()
        case 3:
            kernel = document["KernelSpecification"]
            rng.choice((kernel["GlobalSize"], kernel["LocalSize"]))["X"] = expression
            what = f"size {expression[:40]!r}"
            data = json.dumps(document).encode()
        case _:
            values = rng.choice(
                (
                    *_EXPRESSIONS,
                    "list(range(1, 10000000000))",
                    "[" * 200 + "]" * 200,
                    "[1, 'a', None, 1e999]",
                    f"[{'1, ' * 100_000}]",
                    "list(range(0))",
                    "list(range(9, 1))",
                    "list(range(1, 9, 0))",
                )
            )
            document["ConfigurationSpace"]["TuningParameters"][1]["Values"] = values
            what = f"values {values[:40]!r}"
            data = json.dumps(document).encode()
    return _input(what, case_command(rng, "problem.json"), "problem.json", data)


def _topology(rng: Random) -> HostileInput:
    data = _document(rng, examples.topology())
    out = ("--out", "m.msl") if rng.random() < 0.5 else ()
    return _input("topology", ("machine", "from-mt4g", "t.json", *out), "t.json", data)


def _curve(rng: Random) -> HostileInput:
    text = rng.choice((examples.LATENCIES, examples.CHASES))
    data = (
        encoded(rng, mutate_text(rng, text))
        if rng.random() < 0.8
        else mutate_bytes(rng, text.encode())
    )
    command = ("machine", "curve", "c.txt", *(("--json",) if rng.random() < 0.5 else ()))
    return _input("curve", command, "c.txt", data)


def _events(rng: Random) -> HostileInput:
    data = _table(rng, rng.choice((examples.TABLE, examples.NCU_RAW)))
    command = ("reproduce", "huang-li-events", "--counters", "a.csv")
    if rng.random() < 0.4:
        data = _table(rng, examples.TABLE)
        command = (
            "reproduce",
            "huang-li-ablations",
            "--data",
            "a.csv",
            "-m",
            "A100",
            "--case",
            "tuned.toml",
            "-n",
            "2",
        )
    return _input(
        "reproduction", (*command, "--json") if rng.random() < 0.5 else command, "a.csv", data
    )
