"""LLVM IR that writes trace records."""
