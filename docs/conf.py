"""How Sphinx builds the documentation."""

from importlib.metadata import version as installed_version

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
exclude_patterns = ["images"]
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
