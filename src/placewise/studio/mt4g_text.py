"""Reads the JSON report of mt4g, sent by the browser."""

from __future__ import annotations

import tempfile
from pathlib import Path

from placewise.recorded.mt4g import read_mt4g


def mt4g_text(data: bytes) -> str:
    """The machine file made from mt4g's JSON. Raises MachineError where ``data`` is something
    else."""
    with tempfile.TemporaryDirectory(prefix="placewise-studio-") as folder:
        file = Path(folder) / "mt4g.json"
        file.write_bytes(data)
        return read_mt4g(file)
