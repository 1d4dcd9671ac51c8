"""LLVM vector code that Numba has no words for."""
