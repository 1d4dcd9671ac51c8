"""Lowering of SASS control flow, calls and subroutines."""
