"""Hostile inputs for every command: wrong, huge, damaged and interrupted, each counted."""
