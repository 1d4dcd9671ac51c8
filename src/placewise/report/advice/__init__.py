"""Advice as text and as files."""
