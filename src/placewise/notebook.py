"""What notebooks show of a result: its HTML report."""

from __future__ import annotations

from importlib import import_module


class ShownInNotebooks:
    """Gives a result the display that Jupyter asks for. A base class without fields."""

    def _repr_html_(self) -> str:
        """The result's HTML report in a frame; the charts of memories are simulated now."""
        # Imported by name, because the stages of results must not import the stage of reports.
        shown = import_module("placewise.report.html.notebook")
        return str(shown.framed(shown.page_of(self)))
