"""Advice as text, JSON and files."""

from placewise.report.document import SCHEMA_VERSION, document
from placewise.report.files import as_text, report_console, write_files, written_option
from placewise.report.text import render

__all__ = [
    "SCHEMA_VERSION",
    "as_text",
    "document",
    "render",
    "report_console",
    "write_files",
    "written_option",
]
