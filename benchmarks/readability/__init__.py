"""How easily a newcomer finds their way in the source: sizes, complexity, docstrings."""
