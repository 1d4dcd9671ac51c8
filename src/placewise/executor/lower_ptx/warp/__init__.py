"""Lowering of PTX instructions that a warp executes together."""
