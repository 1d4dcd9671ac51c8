import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from placewise.advisor import advise
from placewise.kernel.cases.make_case import make_case

SLOW_TESTS = Path(__file__).with_name("slow.txt")
"""Names of tests that took longer than ``SLOW_S`` when they last ran with ``--write-slow``, one to
a line. They have the mark ``slow`` as others that carry it in their source."""
SLOW_S = 0.5
"""Seconds of one test by itself, without its fixtures."""
SHORTEST_S = 5.0
"""The shortest test of a file is never left out if it takes no longer than this."""
NEVER_SLOW = (
    "tests/docs/test_pages.py::test_examples_of_a_page[README.md]",
    "tests/test_borders.py",
)
"""Beginnings of the names of tests that every run includes: of what everybody tries first, and of
the order of the folders."""


def pytest_addoption(parser):
    parser.addoption("--write-slow", action="store_true", help=f"write {SLOW_TESTS.name} anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    slow = frozenset(SLOW_TESTS.read_text().splitlines())
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--write-slow"):
        reports = terminalreporter.getreports("passed")
        seconds = {r.nodeid: r.duration for r in reports if r.when == "call"}
        not_run = set(SLOW_TESTS.read_text().splitlines()) - set(seconds)
        SLOW_TESTS.write_text("\n".join(sorted(not_run | slow_tests(seconds))) + "\n")


def slow_tests(seconds):
    """Names of the tests that ``make test`` leaves out. ``seconds`` are those of each test."""
    by_file = defaultdict(list)
    for name in seconds:
        by_file[name.partition("::")[0]].append(name)
    shortest = {min(names, key=seconds.__getitem__) for names in by_file.values()}
    return {
        name
        for name, took in seconds.items()
        if took > (SHORTEST_S if name in shortest else SLOW_S) and not name.startswith(NEVER_SLOW)
    }


GATHER = """\
__global__ void gather(const float *table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 8; k++)
        sum += table[(index[i] + 7 * k) % 512];
    out[i] = sum;
}
"""
N = 20_000


@pytest.fixture(scope="session")
def gather_case():
    rng = np.random.default_rng(7)
    return make_case(
        "gather",
        GATHER,
        [
            rng.random(512, dtype=np.float32),
            rng.integers(0, 512, N, dtype=np.int32),
            np.zeros(N, np.float32),
            np.int32(N),
        ],
        block=128,
        problem=N,
        name="gather",
    )


@pytest.fixture(scope="session")
def gather_advice(gather_case):
    return advise(gather_case, "K20c", measured_ms=2.0)


AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium, driven by Playwright; skips where there is none."""
    driver = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium")
    if not AXE.exists():
        pytest.skip("axe-core is missing: npm ci --prefix web")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class BrowserPage:
    """A page that keeps what went wrong in its console."""

    def __init__(self, chromium, **options):
        # The policy of the pages allows no script but theirs; axe is another.
        self.context = chromium.new_context(bypass_csp=True, **options)
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None,
        )

    def serious(self):
        """What axe-core finds serious or critical."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run()")["violations"]
        return [
            (v["id"], v["nodes"][0]["html"])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]

    def overflow(self):
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def open_page(chromium):
    """Makes pages: ``open_page(width=390, scheme="dark")``; at the end no console has an error."""
    pages = []

    def make(*, width=1280, height=900, scheme="light"):
        size = {"width": width, "height": height}
        pages.append(BrowserPage(chromium, viewport=size, color_scheme=scheme))
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()
    assert [page.errors for page in pages if page.errors] == []
