"""Pieces of arrays that a block or a loop's chunk touches."""
