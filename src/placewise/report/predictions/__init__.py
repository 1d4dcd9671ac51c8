"""Predicted times and counters as a person reads them."""
