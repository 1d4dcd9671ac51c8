"""An HTML report as one file: the page's data as JSON, beside the script that draws it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from placewise.output_file import write_whole
from placewise.report.formats import finite

SCRIPT, STYLE = "placewise.js", "placewise.css"
"""Names of the built files in ``placewise/web``."""
PAGE_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Page:
    """The content of a report. All values are JSON types; the keys are those of
    :class:`placewise.schemas.page.PageDocument`."""

    kind: str
    """The command, such as ``advise``."""
    title: str
    verdict: str
    """The answer in a sentence."""
    document: dict[str, Any]
    """The command's own JSON document."""
    forms: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The document ``placewise-page``, which the page's script reads."""
        return {
            "schema": "placewise-page",
            "schema_version": PAGE_SCHEMA_VERSION,
            "kind": self.kind,
            "title": self.title,
            "verdict": self.verdict,
            "version": version("placewise"),
            "document": self.document,
            "forms": self.forms,
            "changes": self.changes,
            "curves": self.curves,
        }


def page_text(page: Page) -> str:
    """The report as the text of one HTML file, which loads nothing from the network.

    Its content security policy allows only the one script that Placewise ships. So text of a kernel
    could not run as a script even if the page failed to escape it.
    """
    script, style = web_file(SCRIPT), web_file(STYLE)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(page.title)}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n"
        f'<div id="placewise"><p>{html.escape(page.verdict)}</p>'
        "<noscript><p>This report is drawn by a script in this file.</p></noscript></div>\n"
        f'<script id="placewise-page" type="application/json">{embedded(page.to_dict())}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def write_html(path: Path | None, page: Page | None) -> tuple[Path, ...]:
    """Write the report to ``path``; write nothing where either argument is None. Returns the files
    written.

    Raises PlacewiseError where it cannot be written.
    """
    if path is None or page is None:
        return ()
    write_whole(path, page_text(page))
    return (path,)


def embedded(data: object) -> str:
    """JSON to put inside a ``script`` element: characters that could end the element are
    escaped."""
    text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def web_file(name: str) -> str:
    """A file that ``make web`` built, such as :data:`SCRIPT`."""
    return (resources.files("placewise") / "web" / name).read_text(encoding="utf-8")
