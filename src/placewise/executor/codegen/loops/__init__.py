"""Faster code for loops that few lanes still run, or whose access pattern is known."""
