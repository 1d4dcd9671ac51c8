"""What notebooks show of a result: its HTML report."""

from __future__ import annotations

from importlib import import_module


class ShownInNotebooks:
    """Gives a result the display that Jupyter asks for. A base class without fields."""

    def _repr_html_(self) -> str:
        """The result's HTML report in a frame; charts of memories are simulated for it."""
        # Loaded by name: results know nothing of the reports that are made of them.
        shown = import_module("placewise.report.html.notebook")
        return str(shown.framed(shown.page_of(self)))
