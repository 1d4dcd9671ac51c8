"""Measured times and levels beside predicted ones."""
