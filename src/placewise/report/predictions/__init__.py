"""Predicted times and counters as text."""
