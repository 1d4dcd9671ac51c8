"""LLVM IR of control flow: branches, barriers, and the loop over blocks and warps."""
