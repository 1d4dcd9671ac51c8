"""LLVM IR to machine code of the host."""
