"""What makes two findings the same one, in SARIF logs and baselines."""

from __future__ import annotations

import hashlib
from pathlib import Path


def fingerprint(rule: str, kernel: str, file: str, text: str) -> str:
    """A name for a finding that survives edits elsewhere in its file: it has the line's ``text``
    (or the message, where there is no line) in place of the line's number."""
    mark = "|".join((rule, kernel, Path(file).name, text))
    return hashlib.sha256(mark.encode()).hexdigest()[:32]
