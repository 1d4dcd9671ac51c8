"""LLVM IR of memory accesses: loads, stores, atomics, textures."""
