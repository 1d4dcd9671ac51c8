"""LLVM vector code that cannot be written in Numba."""
