"""Lowering of SASS arithmetic, conversions, comparisons and bit operations."""
