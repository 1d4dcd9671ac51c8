"""Shared tiles of a source that are copies of a piece of an array."""
