"""``placewise cases``: the cases that come with Placewise."""

from __future__ import annotations

from placewise.cli.options import AsJson, Format, OutputFormat, show


def list_cases(format_: OutputFormat = Format.text, as_json: AsJson = False) -> None:
    """List the bundled cases."""
    from placewise.cases import case_names, load_case
    from placewise.report.cases import cases_document, render_cases
    from placewise.report.formats import Report

    cases = {name: load_case(name) for name in case_names()}
    show(Report(lambda: render_cases(cases), lambda: cases_document(cases)), format_, as_json)
