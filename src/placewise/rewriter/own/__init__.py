"""Rewrites of the arrays that a kernel declares itself."""
