"""Advice as text, JSON and files."""

from placewise.report.document import SCHEMA_VERSION, document
from placewise.report.files import as_text, check_folder, report_console, write_files
from placewise.report.machine_code import machine_code_document, render_machine_code
from placewise.report.text import render

__all__ = [
    "SCHEMA_VERSION",
    "as_text",
    "check_folder",
    "document",
    "machine_code_document",
    "render",
    "render_machine_code",
    "report_console",
    "write_files",
]
