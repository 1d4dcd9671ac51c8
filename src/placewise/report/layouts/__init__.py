"""Advice on layouts as text, and its files."""
