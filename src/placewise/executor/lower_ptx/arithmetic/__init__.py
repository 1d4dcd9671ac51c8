"""Lowering of PTX arithmetic, conversions, comparisons and bit operations."""
