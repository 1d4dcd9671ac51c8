"""How Sphinx builds the documentation."""

from importlib.metadata import version as installed_version
from pathlib import Path

import typer.main
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from placewise.cli.main import app as command_line

project = "Placewise"
author = "The Placewise authors"
copyright = "2026, The Placewise authors"
version = release = installed_version("placewise")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
exclude_patterns = ["images", "reference/_commands.md"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "linkify"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

autodoc_typehints = "description"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "Placewise"
html_theme_options = {"source_edit_link": "", "navigation_with_keys": True}
suppress_warnings = ["misc.highlighting_failure"]
"""Examples of JSON and C++ that leave something out (``…``) are no valid JSON or C++."""


def write_commands(application: Sphinx) -> None:
    """Write the page of all commands from the program's own helps."""
    command = typer.main.get_command(command_line)
    context = command.context_class(command, info_name="placewise")
    text = get_docs_for_click(obj=command, ctx=context, name="placewise", title="Commands")
    Path(application.srcdir, "reference", "_commands.md").write_text(text, encoding="utf-8")


def setup(application: Sphinx) -> None:
    """Have :func:`write_commands` called before pages are read."""
    application.connect("builder-inited", write_commands)
