"""Placewise: where should each array of a CUDA kernel live, on this GPU?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placewise.advise.advice import Advice
    from placewise.cases import load_case
    from placewise.errors import PlacewiseError
    from placewise.execute.device_memory import DeviceMemory
    from placewise.kernel.case import Case, CompileOptions
    from placewise.kernel.kernel_from import kernel_from
    from placewise.kernel.launch import Launch
    from placewise.kernel.make_case import make_case
    from placewise.kernel.nvrtc import compile_module
    from placewise.kernel.values import PointerTo, Struct, Uninitialised
    from placewise.machine import Machine, load_machine

__all__ = [
    "Advice",
    "Case",
    "CompileOptions",
    "DeviceMemory",
    "Launch",
    "Machine",
    "PlacewiseError",
    "PointerTo",
    "Struct",
    "Uninitialised",
    "compile_module",
    "kernel_from",
    "load_case",
    "load_machine",
    "make_case",
]

_HOMES = {
    "Advice": "placewise.advise.advice",
    "Case": "placewise.kernel.case",
    "CompileOptions": "placewise.kernel.case",
    "DeviceMemory": "placewise.execute.device_memory",
    "Launch": "placewise.kernel.launch",
    "Machine": "placewise.machine",
    "PlacewiseError": "placewise.errors",
    "PointerTo": "placewise.kernel.values",
    "Struct": "placewise.kernel.values",
    "Uninitialised": "placewise.kernel.values",
    "compile_module": "placewise.kernel.nvrtc",
    "kernel_from": "placewise.kernel.kernel_from",
    "load_case": "placewise.cases",
    "load_machine": "placewise.machine",
    "make_case": "placewise.kernel.make_case",
}


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: importing one stage must not load the whole pipeline.
    if name not in _HOMES:
        raise AttributeError(f"module 'placewise' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
