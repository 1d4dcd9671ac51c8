"""Placewise: where should each array of a CUDA kernel live, on this GPU?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placewise.advise.advice import Advice
    from placewise.cases import load_case
    from placewise.errors import PlacewiseError
    from placewise.kernel.case import Case
    from placewise.kernel.make_case import make_case
    from placewise.machine import Machine, load_machine

__all__ = [
    "Advice",
    "Case",
    "Machine",
    "PlacewiseError",
    "load_case",
    "load_machine",
    "make_case",
]

_HOMES = {
    "Advice": "placewise.advise.advice",
    "Case": "placewise.kernel.case",
    "Machine": "placewise.machine",
    "PlacewiseError": "placewise.errors",
    "load_case": "placewise.cases",
    "load_machine": "placewise.machine",
    "make_case": "placewise.kernel.make_case",
}


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: importing one stage must not load the whole pipeline.
    if name not in _HOMES:
        raise AttributeError(f"module 'placewise' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
