"""Predicted times against measured ones that others published, of kernels that nobody tuned to."""
