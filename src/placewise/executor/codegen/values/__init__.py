"""LLVM IR of IR nodes that compute values."""
