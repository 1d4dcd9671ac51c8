"""Lowering of PTX memory instructions."""
