"""Placewise: where should each array of a CUDA kernel live, on this GPU?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placewise.advisor.advice import Advice, Option, Verification
    from placewise.advisor.layouts.advise_jointly import advise_jointly
    from placewise.advisor.layouts.advise_layout import advise_layout
    from placewise.advisor.layouts.estimate_layouts import estimate_layouts
    from placewise.advisor.layouts.joint_advice import JointAdvice
    from placewise.advisor.layouts.layout_advice import LayoutAdvice
    from placewise.advisor.layouts.static_advice import StaticLayoutAdvice
    from placewise.advisor.lint import Remark
    from placewise.advisor.predictions.machine_code import CodeReport, inspect_machine_code
    from placewise.advisor.predictions.moved_counters import MovedCounters, predict_moved_counters
    from placewise.advisor.predictions.predicted_counters import CounterReport
    from placewise.advisor.predictions.predicted_time import (
        TimePrediction,
        TimeReport,
        predict_time,
        predict_times,
    )
    from placewise.advisor.programs.advise_program import advise_program
    from placewise.advisor.programs.advise_program_jointly import advise_program_jointly
    from placewise.advisor.programs.advise_program_layout import advise_program_layout
    from placewise.advisor.programs.program_advice import ProgramAdvice
    from placewise.advisor.programs.program_layout_advice import (
        ProgramJointAdvice,
        ProgramLayoutAdvice,
    )
    from placewise.api import (
        Calibration,
        LintReport,
        advise,
        calibrate,
        execute,
        lint,
        predict_counters,
        rewrite,
        verify,
    )
    from placewise.cases import case_names, load_case
    from placewise.errors import PlacewiseError
    from placewise.executor.device_memory.device_memory import DeviceMemory
    from placewise.executor.run_case import CaseRun
    from placewise.kernel.cases.case import Case, CompileOptions
    from placewise.kernel.cases.make_case import make_case
    from placewise.kernel.cases.values import PointerTo, Struct, Uninitialised
    from placewise.kernel.frontends.kernel_from import kernel_from
    from placewise.kernel.frontends.nvrtc import compile_module
    from placewise.kernel.launch import Launch
    from placewise.kernel.programs.program import KernelLaunch, Program, make_program
    from placewise.kernel.programs.program_file import load_program
    from placewise.machine import Machine, load_machine, machine_names
    from placewise.rewriter.rewritten import Rewritten
    from placewise.runtime.report import TuneReport
    from placewise.runtime.tune import tune
    from placewise.runtime.tuned import Tuned
    from placewise.schemas import json_schema
    from placewise.space import Placement

_HOMES = {
    "Advice": "advisor.advice",
    "Calibration": "advisor.predictions.calibrate",
    "Case": "kernel.cases.case",
    "CaseRun": "executor.run_case",
    "CodeReport": "advisor.predictions.machine_code",
    "CompileOptions": "kernel.cases.case",
    "CounterReport": "advisor.predictions.predicted_counters",
    "DeviceMemory": "executor.device_memory.device_memory",
    "KernelLaunch": "kernel.programs.program",
    "Launch": "kernel.launch",
    "JointAdvice": "advisor.layouts.joint_advice",
    "LayoutAdvice": "advisor.layouts.layout_advice",
    "LintReport": "api",
    "Machine": "machine",
    "MovedCounters": "advisor.predictions.moved_counters",
    "Option": "advisor.advice",
    "Placement": "space",
    "PlacewiseError": "errors",
    "Program": "kernel.programs.program",
    "ProgramAdvice": "advisor.programs.program_advice",
    "ProgramJointAdvice": "advisor.programs.program_layout_advice",
    "ProgramLayoutAdvice": "advisor.programs.program_layout_advice",
    "PointerTo": "kernel.cases.values",
    "Remark": "advisor.lint",
    "Rewritten": "rewriter.rewritten",
    "StaticLayoutAdvice": "advisor.layouts.static_advice",
    "Struct": "kernel.cases.values",
    "TimePrediction": "advisor.predictions.predicted_time",
    "TimeReport": "advisor.predictions.predicted_time",
    "TuneReport": "runtime.report",
    "Tuned": "runtime.tuned",
    "Uninitialised": "kernel.cases.values",
    "Verification": "advisor.advice",
    "advise": "api",
    "advise_jointly": "advisor.layouts.advise_jointly",
    "advise_layout": "advisor.layouts.advise_layout",
    "advise_program": "advisor.programs.advise_program",
    "advise_program_jointly": "advisor.programs.advise_program_jointly",
    "advise_program_layout": "advisor.programs.advise_program_layout",
    "calibrate": "advisor.predictions.calibrate",
    "case_names": "cases",
    "compile_module": "kernel.frontends.nvrtc",
    "estimate_layouts": "advisor.layouts.estimate_layouts",
    "execute": "api",
    "inspect_machine_code": "advisor.predictions.machine_code",
    "json_schema": "schemas",
    "kernel_from": "kernel.frontends.kernel_from",
    "lint": "api",
    "load_case": "cases",
    "load_machine": "machine",
    "load_program": "kernel.programs.program_file",
    "machine_names": "machine",
    "make_program": "kernel.programs.program",
    "make_case": "kernel.cases.make_case",
    "predict_counters": "api",
    "predict_moved_counters": "advisor.predictions.moved_counters",
    "predict_time": "advisor.predictions.predicted_time",
    "predict_times": "advisor.predictions.predicted_time",
    "rewrite": "api",
    "tune": "runtime.tune",
    "verify": "api",
}
"""The module of every public name, below ``placewise``."""

__all__ = [
    "Advice",
    "Calibration",
    "Case",
    "CaseRun",
    "CodeReport",
    "CompileOptions",
    "CounterReport",
    "DeviceMemory",
    "JointAdvice",
    "KernelLaunch",
    "Launch",
    "LayoutAdvice",
    "LintReport",
    "Machine",
    "MovedCounters",
    "Option",
    "Placement",
    "PlacewiseError",
    "PointerTo",
    "Program",
    "ProgramAdvice",
    "ProgramJointAdvice",
    "ProgramLayoutAdvice",
    "Remark",
    "Rewritten",
    "StaticLayoutAdvice",
    "Struct",
    "TimePrediction",
    "TimeReport",
    "TuneReport",
    "Tuned",
    "Uninitialised",
    "Verification",
    "advise",
    "advise_jointly",
    "advise_layout",
    "advise_program",
    "advise_program_jointly",
    "advise_program_layout",
    "calibrate",
    "case_names",
    "compile_module",
    "estimate_layouts",
    "execute",
    "inspect_machine_code",
    "json_schema",
    "kernel_from",
    "lint",
    "load_case",
    "load_machine",
    "load_program",
    "machine_names",
    "make_case",
    "make_program",
    "predict_counters",
    "predict_moved_counters",
    "predict_time",
    "predict_times",
    "rewrite",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: importing one stage must not load the whole pipeline.
    if name not in _HOMES:
        raise AttributeError(f"module 'placewise' has no attribute '{name}'")
    return getattr(import_module(f"placewise.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
