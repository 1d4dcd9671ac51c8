"""Kernels with planted mistakes and correct ones, and what the checker says of them."""
