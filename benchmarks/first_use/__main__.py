"""``make bench-first_use``: the first ``advise`` of a fresh installation, and those that follow.

A clone of the last commit is set up in a temporary folder with its own virtual environment, caches
and home, and next to no environment variables. Processor time is that of all processes, user and
system. ``--test`` also runs ``make test`` there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Figure, report

ROOT = Path(__file__).parents[2]
ADVISE = ("advise", "spmv", "--machine", "A100", "--json")
ASKED_FIRST_S, ASKED_NEXT_S = 12.0, 2.5
REPEATS = 3


@dataclass(frozen=True)
class Machine:
    """A folder that looks like a machine nobody used before."""

    folder: Path

    @property
    def clone(self) -> Path:
        """The source tree."""
        return self.folder / "placewise"

    def environment(self, home: str = "home") -> dict[str, str]:
        """Variables of its processes: ``home`` is a folder of their own."""
        kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "PYENV_"))}
        return kept | {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / home),
            "LANG": "C.UTF-8",
        }

    def run(self, command: Sequence[str], home: str = "home") -> tuple[float, str, str]:
        """(processor time in seconds, standard output, standard error) of a command."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command,
            cwd=self.clone,
            env=self.environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr}")
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return spent, done.stdout, done.stderr

    def placewise(self, home: str = "home") -> tuple[float, str, str]:
        """Like :meth:`run`, of the command that is measured."""
        return self.run([str(self.clone / ".venv" / "bin" / "placewise"), *ADVISE], home)


def verdict(printed: str) -> str:
    """The verdict of an advice's JSON."""
    return str(json.loads(printed)["verdict"])


def measure(machine: Machine) -> list[Figure]:
    """All figures but those of the tests."""
    (machine.folder / "home").mkdir()
    clone = ["git", "clone", "--quiet", str(ROOT), str(machine.clone)]
    subprocess.run(clone, check=True)
    setup = machine.run(["make", "setup"])[0]
    first, printed, _ = machine.placewise()
    said = verdict(printed)
    following = min(machine.placewise()[0] for _ in range(REPEATS))
    shutil.rmtree(machine.folder / "home")
    (machine.folder / "home").mkdir()
    shutil.move(machine.clone / "src/placewise/compiled", machine.folder / "compiled")
    unprepared, printed, errors = machine.placewise()
    told = "First run" in errors
    same = verdict(printed) == said
    unprepared_next = min(machine.placewise()[0] for _ in range(REPEATS))
    shutil.move(machine.folder / "compiled", machine.clone / "src/placewise/compiled")
    # A file in the home's place cannot hold a cache, whoever asks.
    (machine.folder / "no-home").write_text("")
    readonly, printed, _ = machine.placewise("no-home")
    same &= verdict(printed) == said
    (machine.folder / "shared").mkdir()
    command = [str(machine.clone / ".venv" / "bin" / "placewise"), *ADVISE]
    both = [
        subprocess.Popen(
            command,
            cwd=machine.clone,
            env=machine.environment("shared"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(2)
    ]
    at_once = all(verdict(p.communicate()[0]) == said for p in both)

    def seconds(name: str, value: float, asked: float | None) -> Figure:
        text = "" if asked is None else f"at most {asked:g}"
        return Figure(
            name, round(value, 2), "s of processor time", text, not asked or value <= asked
        )

    return [
        seconds("make setup", setup, None),
        seconds("first advise after make setup", first, ASKED_FIRST_S),
        seconds("next advise", following, ASKED_NEXT_S),
        seconds("first advise where the home cannot be written", readonly, ASKED_FIRST_S),
        seconds("first advise where nothing was compiled ahead", unprepared, None),
        seconds("next advise there", unprepared_next, ASKED_NEXT_S),
        Figure("it says what it compiles", str(told), "", "True", told),
        Figure("same verdict without a home", str(same), "", "True", same),
        Figure("same verdict in two processes at once", str(at_once), "", "True", at_once),
    ]  # fmt: skip


def tests_of(machine: Machine) -> list[Figure]:
    """``make demo`` and ``make test`` in the fresh clone."""
    rows = []
    for target, asked in (("demo", None), ("test", 300.0)):
        start = time.monotonic()
        machine.run(["make", target])
        took = time.monotonic() - start
        note = "" if asked is None else f"at most {asked:g} on 4 cores"
        rows.append(Figure(f"make {target}", round(took), "s", note, not asked or took <= asked))
    return rows


def main() -> int:
    """Print the table; the exit code is 1 if a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", action="store_true", help="run make demo and make test, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="placewise-first-use-") as folder:
        machine = Machine(Path(folder))
        figures = measure(machine)
        if options.test:
            figures += tests_of(machine)
    return 0 if report("first_use", figures) else 1


if __name__ == "__main__":
    sys.exit(main())
