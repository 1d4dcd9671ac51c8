"""``python -m placewise``, for an interpreter whose scripts are not on the path."""

from placewise.cli.entry import script

script()
