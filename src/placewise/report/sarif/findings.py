"""Findings of commands as rules and results of a SARIF log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from placewise.advisor.advice import Advice
from placewise.advisor.explain.gain import gain_in_words
from placewise.advisor.layouts.layout_remarks import lint_with_layouts
from placewise.advisor.lint import Rule
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.executor.check.finding import RULES as MISTAKES
from placewise.executor.check.finding import Finding, Kind
from placewise.kernel.cases.case import Case
from placewise.report.findings.lint_findings import Found, with_fingerprints
from placewise.report.sarif.log import SarifResult, SarifRule, sarif_log, write_sarif

BETTER = "better-placement"

_RULES = (
    SarifRule(
        Rule.uncoalesced,
        "Lanes of a warp ask for elements that lie apart.",
        "Let neighbouring threads take neighbouring elements: transpose the array or the loop, "
        "make an array of structures a structure of arrays, or stage the array in shared memory.",
    ),
    SarifRule(
        Rule.bank_conflict,
        "Lanes of a warp ask the same bank of shared memory for different words.",
        "Pad each row by one word, or permute the columns by the row, so that the lanes' words "
        "lie in different banks.",
    ),
    SarifRule(
        Rule.divergent_constant,
        "Lanes of a warp ask constant memory for different addresses.",
        "Constant memory serves one address at a time: keep there what all lanes read at once, and "
        "look-up tables in global or shared memory.",
    ),
    SarifRule(
        Rule.spill,
        "Values that do not fit into registers are kept in local memory.",
        "Keep fewer values alive at once (smaller tiles, less unrolling), or allow more registers "
        "for each thread: __launch_bounds__, maxrregcount.",
    ),
    SarifRule(
        Rule.partly_used,
        "The threads use only a part of each sector that is moved.",
        "Put elements that are used together side by side: a structure of arrays, rows without "
        "gaps, threads that take neighbouring elements.",
        "note",
    ),
    SarifRule(
        Rule.redundant,
        "A block loads the same data from global memory again and again.",
        "Load it once into a tile in shared memory, or into constant memory where all lanes read "
        "one address: placewise advise CASE --machine GPU --out DIR writes and proves it.",
        "note",
    ),
    SarifRule(
        Rule.dropped_hint,
        "A cache hint of the source is not in the machine code.",
        "Compilers silently drop hints that an architecture does not have: placewise "
        "machine-code CASE --machine GPU --listing shows what is left.",
        "note",
    ),
    SarifRule(
        Rule.registers,
        "With a few registers per thread fewer, another block would fit on an SM.",
        "Keep fewer values alive, or limit the registers with __launch_bounds__ or maxrregcount; "
        "placewise lint reports spills that this causes.",
        "note",
    ),
    SarifRule(
        BETTER,
        "An array gains by living in another memory.",
        "placewise advise CASE --machine GPU --out DIR writes the rewritten kernel, whose outputs "
        "were found bit-identical, and the host code that goes with it.",
    ),
)


def write_lint_sarif(
    path: Path,
    report: CounterReport,
    advice: Advice | None = None,
    found: Sequence[Found] | None = None,
    *,
    with_baseline: bool = False,
) -> None:
    """Write the log that :func:`lint_sarif` makes to ``path``. Raises PlacewiseError where it
    cannot be written."""
    write_sarif(path, lint_sarif(report, advice, found, with_baseline=with_baseline))


def lint_sarif(
    report: CounterReport,
    advice: Advice | None = None,
    found: Sequence[Found] | None = None,
    *,
    with_baseline: bool = False,
) -> dict[str, Any]:
    """Log of the findings of lint on ``report``, and of the better placement that ``advice``
    recommends.

    ``found`` are the findings of lint if they have been computed already. With ``with_baseline``
    the log says which of them are new.
    """
    if found is None:
        found = with_fingerprints(report, lint_with_layouts(report))
    results = [_remark(report, one, with_baseline=with_baseline) for one in found]
    if advice is not None:
        results += _better(advice)
    return sarif_log(report.case, _RULES, results)


def check_sarif(case: Case, findings: Sequence[Finding]) -> dict[str, Any]:
    """Log of the checker's findings."""
    rules = [
        SarifRule(
            kind,
            MISTAKES[kind],
            "placewise run CASE --check tells thread, element and place of the first occurrence.",
            "error",
        )
        for kind in Kind
    ]
    return sarif_log(case, rules, [_mistake(case, found) for found in findings])


def _remark(report: CounterReport, found: Found, *, with_baseline: bool) -> SarifResult:
    remark = found.remark
    line = remark.line
    properties: dict[str, Any] = {"machine": report.run.machine.name, "share": remark.share}
    if remark.array is not None:
        properties["array"] = remark.array
    if math.isfinite(remark.times):
        properties["timesWhatWouldDo"] = remark.times
    if remark.saving is not None:
        properties["shareOfTimeSaved"] = remark.saving
    return SarifResult(
        remark.rule,
        "warning" if remark.warning else "note",
        remark.message,
        line.file if line else report.case.filename,
        line.line if line else None,
        report.run.kernel.name,
        properties=properties,
        is_known=found.known if with_baseline else None,
    )


def _better(advice: Advice) -> list[SarifResult]:
    """A result for each array that the recommended placement moves. The first one has the rewritten
    source as its fix if the host code need not change."""
    option = advice.recommended
    if option is None:
        return []
    lines = {facts.array: facts.heaviest_line for facts in advice.arrays}
    moved = option.placement.moved(advice.present.placement)
    new_source = _mended(advice)
    results = []
    for number, (array, _, to) in enumerate(moved):
        results.append(
            SarifResult(
                BETTER,
                "warning",
                f"{array}: moved to {to}, the kernel is predicted {gain_in_words(option)} on "
                f"{advice.machine.name}"
                + (", with the moves of the other arrays" if len(moved) > 1 else ""),
                advice.case.filename,
                lines.get(array),
                advice.case.kernel,
                properties={
                    "machine": advice.machine.name,
                    "array": array,
                    "space": to,
                    "ratio": option.ratio,
                    "outputs": "bit-identical",
                },
                new_source=None if number else new_source,
            )
        )
    return results


def _mended(advice: Advice) -> str | None:
    """The rewritten source if the host can launch it like the present kernel; else None."""
    rewritten = advice.recommended.rewritten if advice.recommended is not None else None
    if rewritten is None or rewritten.renamed or rewritten.case.launch != advice.case.launch:
        return None
    return rewritten.case.source


def _mistake(case: Case, found: Finding) -> SarifResult:
    place, other = found.place, found.other_place
    others: tuple[tuple[str, int, str], ...] = ()
    if other is not None and other.line is not None:
        others = ((_path(case, other.file), other.line, "the earlier access"),)
    where = f" ({found.thread})" if found.thread is not None else ""
    hint = f"; {found.hint}" if found.hint else ""
    return SarifResult(
        found.kind,
        found.severity,
        f"{found.message}{where}{hint}",
        _path(case, place.file),
        place.line,
        found.kernel or case.kernel,
        others,
        {"count": found.count, "array": found.array or ""},
    )


def _path(case: Case, file: str) -> str:
    """The path of the case's source if ``file`` has the same base name, else ``file``."""
    return case.filename if Path(file).name == Path(case.filename).name else file
