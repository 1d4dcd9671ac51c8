"""How Sphinx builds the documentation."""

from collections.abc import Iterator
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import typer.main
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from placewise.cli.main import app as command_line
from placewise.schemas import DOCUMENTS, json_schema

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
exclude_patterns = ["images", "reference/_commands.md", "reference/_json.md"]
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


def write_schemas(application: Sphinx) -> None:
    """Write the page of all JSON documents from their JSON Schemas."""
    lines = [line for name in DOCUMENTS for line in document_section(name)]
    text = "\n".join(lines) + "\n"
    Path(application.srcdir, "reference", "_json.md").write_text(text, encoding="utf-8")


def document_section(name: str) -> Iterator[str]:
    """Heading and tables of one document, in Markdown: its own keys, then those of its parts."""
    schema = json_schema(name)
    yield from (f"({name})=", f"## `{name}`", "", *keys_table(name, schema, schema), "")
    for part, described in schema.get("$defs", {}).items():
        if part not in OTHER_DOCUMENTS:
            yield from (
                f"({name}-{part.lower()})=",
                f"**{part}**",
                "",
                *keys_table(name, described, schema),
            )
            yield ""


OTHER_DOCUMENTS = {kind.__name__: name for name, kind in DOCUMENTS.items()}
"""Documents that can be parts of other documents: name of the class to name of the schema."""


def keys_table(document: str, described: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    """What an object is, and a table with a row for each of its keys."""
    yield from (described.get("description", ""), "", "| key | type | meaning |", "|---|---|---|")
    for key, value in described["properties"].items():
        part = schema.get("$defs", {}).get(value.get("$ref", "").rpartition("/")[2], {})
        text = value.get("description") or part.get("description", "")
        meaning = " ".join(text.split()).replace("|", "\\|")
        yield f"| `{key}` | {type_words(document, value)} | {meaning} |"


def type_words(document: str, value: dict[str, Any]) -> str:
    """The type of a JSON value in words, such as ``list of numbers, or null``."""
    if "$ref" in value:
        part = value["$ref"].rpartition("/")[2]
        target = OTHER_DOCUMENTS.get(part, f"{document}-{part.lower()}")
        return f"[{part}](#{target})"
    if "const" in value or "enum" in value:
        return " or ".join(
            f"`{v!r}`".replace("'", '"') for v in value.get("enum", [value.get("const")])
        )
    if "anyOf" in value:
        return " or ".join(type_words(document, choice) for choice in value["anyOf"])
    if "prefixItems" in value:
        return "[" + ", ".join(type_words(document, item) for item in value["prefixItems"]) + "]"
    if value.get("type") == "array":
        items = type_words(document, value["items"])
        return f"list of {items}s" if items.isalpha() else f"list of {items}"
    if isinstance(value.get("additionalProperties"), dict):
        return f"object of names to {type_words(document, value['additionalProperties'])}"
    return str(value["type"])


def setup(application: Sphinx) -> None:
    """Have the generated pages written before pages are read."""
    application.connect("builder-inited", write_commands)
    application.connect("builder-inited", write_schemas)
