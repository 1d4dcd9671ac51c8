"""Advice on layouts as a person reads it, and its files."""
