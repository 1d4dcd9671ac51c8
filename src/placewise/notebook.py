"""What notebooks show of a result: its HTML report."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module

from placewise.short_repr import ShortRepr


class ShownInNotebooks(ShortRepr):
    """Gives a result the display that Jupyter asks for. A base class without fields."""

    def _repr_html_(self) -> str:
        """The result's HTML report in a frame. Its charts are made when it is first asked for."""
        return self._framed_page

    @cached_property
    def _framed_page(self) -> str:
        # Imported by name, because the stages of results must not import the stage of reports.
        shown = import_module("placewise.report.html.notebook")
        return str(shown.framed(shown.page_of(self)))
