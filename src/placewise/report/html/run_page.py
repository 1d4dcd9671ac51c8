"""The page of ``placewise run --html``."""

from __future__ import annotations

from collections import Counter

from placewise.executor.run_case import CaseRun
from placewise.report.html.advice_page import PRESENT
from placewise.report.html.forms import source_document
from placewise.report.html.listings import ptx_listing
from placewise.report.html.page import Page


def run_page(run: CaseRun) -> Page:
    """The page of a run on the CPU: what the checker found, outputs, and counts by source line."""
    form = source_document(run.case, title=PRESENT)
    form["ptx"] = ptx_listing(run.kernel)
    nothing = dict.fromkeys(
        ("cached_requests", "sectors", "least_sectors", "wavefronts", "least_wavefronts",
         "l2_sectors", "dram_sectors", "saving"), 0.0,
    )  # fmt: skip
    form["lines"] = [
        {
            "file": line.file,
            "line": line.line,
            "instructions": float(line.warp_instructions),
            "requests": float(sum(number for _, number in line.accesses)),
            **nothing,
        }
        for line in run.lines
    ]
    return Page(
        kind="run",
        title=f"{run.kernel.name}: run on the CPU",
        verdict=_verdict(run),
        document=run.to_dict(),
        forms=[form],
    )


def _verdict(run: CaseRun) -> str:
    if run.checker is None:
        written = ", ".join(sorted(run.execution.written)) or "nothing"
        return f"It ran to its end and wrote {written}. Nothing was checked."
    if not run.checker.findings:
        return "Clean: no races, no accesses out of bounds, nothing read before it was written."
    kinds = Counter(str(finding.kind) for finding in run.checker.findings)
    told = ", ".join(f"{kind} at {n} place{'s' * (n != 1)}" for kind, n in kinds.items())
    return f"{'Remarks only' if run.checker.clean else 'Mistakes'}: {told}."
