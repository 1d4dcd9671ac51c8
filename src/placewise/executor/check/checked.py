"""The interface between a run and its checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.device import Device
from placewise.executor.ir.nodes import Program
from placewise.executor.runtime.worker import FaultReport
from placewise.executor.translate import Translation
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch


@dataclass(frozen=True, eq=False)
class Scene:
    """What the checker is told of a launch that is about to run."""

    kernel: Kernel
    launch: Launch
    translation: Translation
    device: Device
    views: dict[str, NDArray[np.generic]]
    """Arrays among the arguments, by name: their element types and shapes."""


class LaunchCheck(Protocol):
    """The check of one launch."""

    def attach(self, context: NDArray[np.int64]) -> None:
        """Make the worker with this context call the checker before every access."""

    def end(self, fault: FaultReport | None, *, finished: bool) -> None:
        """The launch has ended: by a ``fault``, or early, or with all its blocks ``finished``."""


class Check(Protocol):
    """Checks launches; see :class:`placewise.executor.check.Checker`."""

    def sites(self, program: Program, device: Device) -> frozenset[int]:
        """Sites of the memory instructions that call the checker before they run."""

    def begin(self, scene: Scene) -> LaunchCheck:
        """Start the check of a launch."""
