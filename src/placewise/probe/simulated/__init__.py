"""Simulated targets and devices for the probe."""
