"""Sweeps: predictions for kernels × machines × sizes × configurations, kept in a store so that an
interrupted sweep can continue."""

from placewise.sweep.plan import Task, tasks_of
from placewise.sweep.plan_file import SweepPlan, SweptKernel, read_plan
from placewise.sweep.run import SweepResult, sweep
from placewise.sweep.store import Row

__all__ = [
    "Row",
    "SweepPlan",
    "SweepResult",
    "SweptKernel",
    "Task",
    "read_plan",
    "sweep",
    "tasks_of",
]
