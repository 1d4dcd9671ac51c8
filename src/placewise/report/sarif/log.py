"""Findings as a SARIF log, which code hosts and editors show at their source lines.

OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from placewise.kernel.cases.case import Case
from placewise.output_file import write_whole
from placewise.report.findings.fingerprint import fingerprint
from placewise.report.source_lines import SourceLines

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "SRCROOT"
"""Name of the base folder of relative paths: the folder where the program was started."""


@dataclass(frozen=True)
class SarifRule:
    """A kind of finding."""

    id: str
    summary: str
    """One sentence."""
    help: str
    """What to do about it."""
    level: str = "warning"
    """Default level: error, warning or note."""


@dataclass(frozen=True)
class SarifResult:
    """One finding."""

    rule: str
    level: str
    message: str
    file: str
    line: int | None
    kernel: str
    others: tuple[tuple[str, int, str], ...] = ()
    """Related places: (file, line, description)."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    new_source: str | None = None
    """The text of the whole file with the finding mended; None where there is no fix."""
    is_known: bool | None = None
    """Whether the baseline has it; None where there is no baseline."""


def sarif_log(
    case: Case, rules: Sequence[SarifRule], results: Iterable[SarifResult]
) -> dict[str, Any]:
    """The log of one run of the program on ``case``; only JSON types."""
    results = list(results)
    source = SourceLines(case)
    files: dict[str, int] = {}
    for file in (case.filename, *(r.file for r in results)):
        files.setdefault(_location(file)["uri"], len(files))
    order = {rule.id: number for number, rule in enumerate(rules)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Placewise",
                        "semanticVersion": version("placewise"),
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "columnKind": "utf16CodeUnits",
                "originalUriBaseIds": {ROOT: {"uri": Path.cwd().as_uri() + "/"}},
                "artifacts": [{"location": _from_root(uri)} for uri in files],
                "results": [_result(r, order[r.rule], files, source, case) for r in results],
            }
        ],
    }


def write_sarif(path: Path, log: Mapping[str, Any]) -> None:
    """Write a log as indented JSON; its folder is created if missing. Raises PlacewiseError where
    the file cannot be written."""
    write_whole(path, json.dumps(log, indent=2, allow_nan=False) + "\n")


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(
    result: SarifResult, rule: int, files: Mapping[str, int], source: SourceLines, case: Case
) -> dict[str, Any]:
    text = source.text(result.file, result.line)
    mark = fingerprint(result.rule, result.kernel, result.file, text or result.message)
    found: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": rule,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [
            {
                "physicalLocation": _place(result.file, result.line, files, text),
                "logicalLocations": [{"name": result.kernel, "kind": "function"}],
            }
        ],
        # Made from the line's text, not its number: it stays the same after edits of other lines.
        "partialFingerprints": {"placewise/v1": mark},
    }
    if result.others:
        found["relatedLocations"] = [
            {
                "physicalLocation": _place(file, line, files, source.text(file, line)),
                "message": {"text": what},
            }
            for file, line, what in result.others
        ]
    if result.is_known is not None:
        found["baselineState"] = "unchanged" if result.is_known else "new"
    if result.properties:
        found["properties"] = dict(result.properties)
    if result.new_source is not None:
        found["fixes"] = [_whole_file(result, case)]
    return found


def _place(file: str, line: int | None, files: Mapping[str, int], text: str) -> dict[str, Any]:
    location = _location(file)
    if location["uri"] in files:
        location["index"] = files[location["uri"]]
    place: dict[str, Any] = {"artifactLocation": location}
    if line is not None:
        place["region"] = {"startLine": line}
        if text:
            place["region"]["snippet"] = {"text": text}
    return place


def _location(file: str) -> dict[str, Any]:
    path = Path(file)
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    return _from_root(path.as_uri() if path.is_absolute() else quote(path.as_posix()))


def _from_root(uri: str) -> dict[str, Any]:
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": ROOT}


def _whole_file(result: SarifResult, case: Case) -> dict[str, Any]:
    """A fix that replaces the whole text of the source."""
    lines = case.source.splitlines() or [""]
    end = len(lines[-1].encode("utf-16-le")) // 2 + 1
    return {
        "description": {"text": result.message},
        "artifactChanges": [
            {
                "artifactLocation": _location(case.filename),
                "replacements": [
                    {
                        "deletedRegion": {
                            "startLine": 1,
                            "startColumn": 1,
                            "endLine": len(lines),
                            "endColumn": end,
                        },
                        "insertedContent": {"text": (result.new_source or "").removesuffix("\n")},
                    }
                ],
            }
        ],
    }
