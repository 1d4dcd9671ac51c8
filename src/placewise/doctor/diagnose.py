"""All checks of this machine in one value."""

from __future__ import annotations

import importlib.metadata
from dataclasses import asdict, dataclass
from typing import Any

from placewise.compiled_code import AHEAD
from placewise.doctor.caches import CacheFolder, cache_folders
from placewise.doctor.checks import Check, State, needed, optional

DOCTOR_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Diagnosis:
    """What works on this machine."""

    version: str
    """Version of Placewise."""
    checks: tuple[Check, ...]
    caches: tuple[CacheFolder, ...]
    freed_bytes: int | None
    """Bytes of the caches that were just cleared; None where they were left."""

    @property
    def healthy(self) -> bool:
        """Whether nothing that is needed is missing."""
        return all(check.state is not State.fails for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise doctor --json`` prints."""
        return {
            "schema": "placewise-doctor",
            "schema_version": DOCTOR_SCHEMA_VERSION,
            "version": self.version,
            "healthy": self.healthy,
            "checks": [asdict(check) for check in self.checks],
            "caches": [{**asdict(cache), "path": str(cache.path)} for cache in self.caches],
            "freed_bytes": self.freed_bytes,
        }


def diagnose(gpu: Check, freed_bytes: int | None = None) -> Diagnosis:
    """Check this machine. ``gpu`` is the caller's check of the GPU and its driver."""
    return Diagnosis(
        importlib.metadata.version("placewise"),
        (*needed(), _ahead(), *optional(), gpu),
        cache_folders(),
        freed_bytes,
    )


def _ahead() -> Check:
    """Whether the installation holds compiled code; without it the first run takes longer."""
    name = "simulator compiled ahead"
    try:
        functions = sum(1 for _ in AHEAD.iterdir())
    except OSError:
        functions = 0
    if functions:
        return Check(name, State.works, f"{functions} functions, {AHEAD}")
    hint = "python -m placewise.compile_ahead"
    return Check(name, State.absent, "the first run compiles it, in one to two minutes", hint)
