"""Advice as text, JSON and files."""
