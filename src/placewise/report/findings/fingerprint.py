"""Fingerprints that identify findings in SARIF logs and baselines."""

from __future__ import annotations

import hashlib
from pathlib import Path


def fingerprint(rule: str, kernel: str, file: str, text: str) -> str:
    """A fingerprint of a finding that stays the same when other lines of the file are edited: it is
    made from the line's ``text`` (or the message, where there is no line), not from its number."""
    mark = "|".join((rule, kernel, Path(file).name, text))
    return hashlib.sha256(mark.encode()).hexdigest()[:32]
