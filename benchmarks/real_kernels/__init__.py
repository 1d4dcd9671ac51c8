"""Kernels of SHOC, Rodinia and the CUDA samples, run without a GPU and checked against NumPy."""
