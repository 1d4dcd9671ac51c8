"""Others' published measurements as curves and levels."""
