"""Names of sources in messages, also of those that lie in no file."""

from __future__ import annotations

import re


def text_name(kernel: str) -> str:
    """Name of a text without a file, from a kernel's name: ``<scale-float>`` of
    ``scale<float>``."""
    return f"<{plain_name(kernel)}>"


def plain_name(kernel: str) -> str:
    """A kernel's name without what file names do not have, such as ``scale-float`` of
    ``scale<float>``."""
    return re.sub(r"\W+", "-", kernel).strip("-")


def named_file(file: str) -> str:
    """``file``, or the name alone of a text without a file: the compiler puts the working folder
    before it."""
    name = file.rpartition("/")[2]
    return name if name.startswith("<") and name.endswith(">") else file
