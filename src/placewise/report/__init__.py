"""Advice as text, JSON and files."""

from placewise.report.advice.files import as_text, check_folder, report_console, write_files
from placewise.report.advice.text import render
from placewise.report.counters import render_counters
from placewise.report.machine_code import machine_code_document, render_machine_code
from placewise.report.run import render_findings, render_run
from placewise.report.validation import render_validation, validation_document

__all__ = [
    "as_text",
    "check_folder",
    "machine_code_document",
    "render",
    "render_counters",
    "render_findings",
    "render_machine_code",
    "render_run",
    "render_validation",
    "report_console",
    "validation_document",
    "write_files",
]
