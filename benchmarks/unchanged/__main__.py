"""``make bench-unchanged ARGS="--base REV"``: the program of REV beside the one that lies here.

Both run the same commands in processes of their own, each with a cache of its own; their JSON is
compared leaf by leaf. Figures must be equal to the last bit: traffic, times, ratios, verdicts,
tables, every entry of every machine. Texts may be reworded; how many were is counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks.results import Figure, report
from benchmarks.unchanged.commands import Command, commands
from benchmarks.unchanged.compare import Difference, differences

ROOT = Path(__file__).parents[2]
SHOWN = 40


def answer(command: Command, tree: Path, cache: Path) -> Any:
    """The JSON that the program in ``tree`` prints; text, where it prints none."""
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "XDG_CACHE_HOME": str(cache),
        "COLUMNS": "120",
    }
    done = subprocess.run(
        [sys.executable, "-m", "placewise", *command.arguments],
        env=environment,
        cwd=cache,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.replace(str(tree), "TREE")
    try:
        return {"status": done.returncode, "answer": json.loads(printed)}
    except json.JSONDecodeError:
        return {"status": done.returncode, "answer": printed, "error": done.stderr}


def main() -> int:
    """Compare the two trees; the exit code is 1 if a figure differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="HEAD~1", help="revision to compare with")
    parser.add_argument("--quick", action="store_true", help="two machines, three cases")
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time")
    parser.add_argument("--topic", help="only commands of this topic")
    parser.add_argument("--out", type=Path, help="write every difference to this JSON file")
    options = parser.parse_args()
    chosen = [
        c for c in commands(quick=options.quick) if options.topic in (None, c.topic)
    ]  # fmt: skip
    found: list[tuple[Command, Difference]] = []
    leaves: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="placewise-unchanged-") as folder:
        before, caches = Path(folder) / "tree", (Path(folder) / "old", Path(folder) / "new")
        for cache in caches:
            cache.mkdir()
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(before), options.base], check=True)
        try:
            with ThreadPoolExecutor(options.jobs) as pool:
                old = pool.map(lambda c: answer(c, before, caches[0]), chosen)
                new = pool.map(lambda c: answer(c, ROOT, caches[1]), chosen)
                console = Console(stderr=True)
                for command, was, now in track(
                    zip(chosen, old, new, strict=True), "comparing", len(chosen), console=console
                ):
                    number, differing = differences(was, now)
                    leaves[command.topic] += number
                    found += [(command, d) for d in differing]
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)
    figures = [(c, d) for c, d in found if not d.is_words]
    for command, d in figures[:SHOWN]:
        print(f"{command.name}: {d.place}: {d.before!r} -> {d.after!r}")
    if options.out:
        rows = [[c.name, d.place, d.before, d.after] for c, d in found]
        options.out.write_text(json.dumps(rows, indent=1, default=str))
    return 0 if report("unchanged", summary(leaves, chosen, found)) else 1


def summary(
    leaves: Counter[str], chosen: list[Command], found: list[tuple[Command, Difference]]
) -> list[Figure]:
    """Figures per topic: leaves compared, figures that differ, texts that were reworded."""
    asked = Counter(c.topic for c in chosen)
    rows = []
    for topic, number in leaves.items():
        here = [d for c, d in found if c.topic == topic]
        differ = sum(not d.is_words for d in here)
        rows.append(Figure(f"{topic}: commands compared", asked[topic], "commands", "", True))
        rows.append(Figure(f"{topic}: leaves compared", number, "leaves", "", True))
        rows.append(Figure(f"{topic}: figures that differ", differ, "leaves", "0", differ == 0))
        rows.append(Figure(f"{topic}: texts reworded", len(here) - differ, "leaves", "", True))
    return rows


if __name__ == "__main__":
    sys.exit(main())
