"""Placewise: where should each array of a CUDA kernel live, on this GPU?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placewise.advisor.advice import Advice
    from placewise.cases import load_case
    from placewise.errors import PlacewiseError
    from placewise.executor.device_memory.device_memory import DeviceMemory
    from placewise.kernel.cases.case import Case, CompileOptions
    from placewise.kernel.cases.make_case import make_case
    from placewise.kernel.cases.values import PointerTo, Struct, Uninitialised
    from placewise.kernel.frontends.kernel_from import kernel_from
    from placewise.kernel.frontends.nvrtc import compile_module
    from placewise.kernel.launch import Launch
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
    "Advice": "placewise.advisor.advice",
    "Case": "placewise.kernel.cases.case",
    "CompileOptions": "placewise.kernel.cases.case",
    "DeviceMemory": "placewise.executor.device_memory.device_memory",
    "Launch": "placewise.kernel.launch",
    "Machine": "placewise.machine",
    "PlacewiseError": "placewise.errors",
    "PointerTo": "placewise.kernel.cases.values",
    "Struct": "placewise.kernel.cases.values",
    "Uninitialised": "placewise.kernel.cases.values",
    "compile_module": "placewise.kernel.frontends.nvrtc",
    "kernel_from": "placewise.kernel.frontends.kernel_from",
    "load_case": "placewise.cases",
    "load_machine": "placewise.machine",
    "make_case": "placewise.kernel.cases.make_case",
}


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: importing one stage must not load the whole pipeline.
    if name not in _HOMES:
        raise AttributeError(f"module 'placewise' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
