"""``make bench-experience``: how long a user waits for the program to answer, and how large its
report is.

Processor time (user and system) of a new Python for ``import placewise`` and ``placewise --help``;
size of the page of the bundled ``spmv``, and the time until headless Chromium has drawn it, its
picture included. The least of several runs each. Without Chromium or Playwright the last figure is
left out.
"""

from __future__ import annotations

import importlib.util
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import Figure, report

REPEATS = 7
ASKED_IMPORT_S, ASKED_HELP_S, ASKED_BYTES, ASKED_OPEN_S = 0.3, 0.5, 1_000_000, 1.0
ADVISE = ("advise", "spmv", "--machine", "A100", "--quiet", "--html")
DRAWN = """() => new Promise(done => {
    const look = () => document.querySelector('.verdict')
        ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))
        : requestAnimationFrame(look);
    look();
})"""


def processor_seconds(command: Sequence[str]) -> float:
    """Least processor time of a command in several runs."""
    least = float("inf")
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        least = min(least, spent)
    return least


def opening_seconds(page: Path) -> float | None:
    """Time from the start of navigation until the page is drawn; None where no browser is there."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None or importlib.util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        times = []
        for _ in range(REPEATS):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(page.as_uri())
            times.append(tab.evaluate(DRAWN) / 1000)
            tab.close()
        browser.close()
    return min(times)


def figure(name: str, value: float, unit: str, most: float) -> Figure:
    """A figure that must not be above ``most``."""
    return Figure(name, round(value, 3), unit, f"below {most:,g}", value < most)


def main() -> int:
    """Print the table; the exit code is 1 if a figure is missed."""
    run = [sys.executable, "-m", "placewise"]
    figures = [
        figure(
            "import placewise",
            processor_seconds([sys.executable, "-c", "import placewise"]),
            "s of processor time",
            ASKED_IMPORT_S,
        ),
        figure(
            "placewise --help",
            processor_seconds([*run, "--help"]),
            "s of processor time",
            ASKED_HELP_S,
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "spmv.html"
        subprocess.run([*run, *ADVISE, str(page)], check=True, stdout=subprocess.DEVNULL)
        text = page.read_text(encoding="utf-8")
        data = re.search(r'type="application/json">(.*?)</script>', text)
        assert data is not None, "every page embeds its data"
        size = len(text.encode())
        figures.append(figure("report of spmv", size, "bytes", ASKED_BYTES))
        own = size - len(data[1].encode())
        figures.append(figure("report of spmv, beside its data", own, "bytes", ASKED_BYTES))
        json.loads(data[1])
        opened = opening_seconds(page)
    if opened is not None:
        figures.append(figure("report of spmv, opened and drawn", opened, "s", ASKED_OPEN_S))
    return 0 if report("experience", figures) else 1


if __name__ == "__main__":
    sys.exit(main())
