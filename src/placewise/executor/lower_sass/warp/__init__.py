"""Lowering of SASS instructions that a warp executes together."""
