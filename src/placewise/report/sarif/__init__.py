"""Findings as SARIF logs."""
