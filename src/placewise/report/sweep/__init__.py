"""Sweeps as text, as a plot, and as a table for other programs."""
