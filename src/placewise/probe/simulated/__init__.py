"""Targets that are not there: simulated devices for the probe."""
