"""Names of the GPU programme's files, and its exit status without a GPU."""

from __future__ import annotations

import re
from pathlib import Path

NO_GPU = 3
"""Exit status where there is no GPU."""


def dated(folder: Path, kind: str, device: str, date: str) -> Path:
    """``KIND-DEVICE-DATE.json`` in ``folder``; ``date`` in ISO 8601, of which the day is taken."""
    name = re.sub(r"\W+", "-", device).strip("-")
    return folder / f"{kind}-{name}-{date[:10]}.json"
