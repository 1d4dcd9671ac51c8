"""Measures the bundled cases on a machine's GPU."""
