"""``placewise cases``: the cases that come with Placewise."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from placewise.cli.options import AsJson, Format, OutputFormat, show


class Grouping(StrEnum):
    """What the list of cases is arranged by."""

    kind = "kind"
    paper = "paper"


By = Annotated[
    Grouping,
    typer.Option("--by", help="Arrange by kind of kernel, or by the papers that evaluate them."),
]


def list_cases(
    by: By = Grouping.kind, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """List the bundled cases."""
    from placewise.cases import bundled_cases
    from placewise.cases.papers import PAPERS
    from placewise.report.cases import cases_document, render_cases, render_cases_by_paper
    from placewise.report.formats import Report

    cases = bundled_cases()
    text = (
        (lambda: render_cases(cases))
        if by is Grouping.kind
        else (lambda: render_cases_by_paper(cases, PAPERS))
    )
    show(Report(text, lambda: cases_document(cases)), format_, as_json)
