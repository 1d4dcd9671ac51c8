"""Lowering of SASS memory instructions."""
