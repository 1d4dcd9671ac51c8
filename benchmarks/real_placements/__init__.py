"""Placements and layouts written for kernels of public programs, as published."""
