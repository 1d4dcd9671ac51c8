"""What a run tells whoever checks it, and what it expects of them."""

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
    """A launch about to run."""

    kernel: Kernel
    launch: Launch
    translation: Translation
    device: Device
    views: dict[str, NDArray[np.generic]]
    """Arrays among the arguments, by name: their element types and shapes."""


class LaunchCheck(Protocol):
    """The check of one launch."""

    def attach(self, context: NDArray[np.int64]) -> None:
        """Have the worker with this context ask the checker before every access."""

    def end(self, fault: FaultReport | None, *, finished: bool) -> None:
        """The launch has ended: with a fault, early, or with all its blocks ``finished``."""


class Check(Protocol):
    """Checks launches; see :class:`placewise.executor.check.Checker`."""

    def sites(self, program: Program, device: Device) -> frozenset[int]:
        """Memory instructions before which the checker wants to be asked."""

    def begin(self, scene: Scene) -> LaunchCheck:
        """Start a launch."""
