"""Advice as text, JSON and files."""

from placewise.report.advice.document import SCHEMA_VERSION, document
from placewise.report.advice.files import as_text, check_folder, report_console, write_files
from placewise.report.advice.text import render
from placewise.report.counters import counters_document, render_counters
from placewise.report.machine_code import machine_code_document, render_machine_code
from placewise.report.run import check_document, render_findings, render_run, run_document
from placewise.report.validation import render_validation, validation_document

__all__ = [
    "SCHEMA_VERSION",
    "as_text",
    "check_document",
    "check_folder",
    "counters_document",
    "document",
    "machine_code_document",
    "render",
    "render_counters",
    "render_findings",
    "render_machine_code",
    "render_run",
    "render_validation",
    "report_console",
    "run_document",
    "validation_document",
    "write_files",
]
