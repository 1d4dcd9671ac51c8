"""The built script and style are those of the sources in ``web``, with licences, and small."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from placewise.report.html.page import SCRIPT, STYLE, web_file

WEB = Path(__file__).parents[3] / "web"
OWN = ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")


def sources_hash():
    """What ``web/build.mjs`` writes into both files: each name and content, ended by a zero."""
    files = [*(WEB / name for name in OWN), *(p for p in (WEB / "src").rglob("*") if p.is_file())]
    found = hashlib.sha256()
    for name in sorted(p.relative_to(WEB).as_posix() for p in files):
        found.update(name.encode() + b"\0" + (WEB / name).read_bytes() + b"\0")
    return found.hexdigest()


@pytest.mark.parametrize("name", [SCRIPT, STYLE])
def test_built_files_are_those_of_the_sources(name):
    built = re.match(r"/\* Placewise\. Sources: sha256 ([0-9a-f]{64})\.", web_file(name))
    assert built is not None
    assert built[1] == sources_hash(), "run `make web` and commit what it built"


def test_every_package_that_is_built_in_has_its_licence():
    licences = web_file("LICENSES.txt")
    lock = json.loads((WEB / "package-lock.json").read_text())
    asked = json.loads((WEB / "package.json").read_text())["dependencies"]
    for name, version in asked.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    for name in (*asked, "d3-array", "style-mod"):
        if name != "@codemirror/commands" and name != "@codemirror/lint":
            assert re.search(
                rf"^{re.escape(name)} [\d.]+ \((MIT|ISC|BSD-3-Clause)\)$", licences, re.M
            )
    assert licences.count("Copyright") >= 10


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()


def test_the_script_stays_small():
    assert len(web_file(SCRIPT).encode()) < 512 * 1024
    assert len(web_file(STYLE).encode()) < 32 * 1024
