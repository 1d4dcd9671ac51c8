"""The warp IR to machine code, through LLVM IR written as text."""
