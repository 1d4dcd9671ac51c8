"""Lowering of PTX functions, calls and synchronisation."""
