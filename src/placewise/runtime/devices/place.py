"""Where kernels run: the interface of the executor and of a GPU for the runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.kernel import Kernel
from placewise.machine import Machine
from placewise.runtime.form import Form
from placewise.runtime.launches.call import Call

Snapshot = tuple[NDArray[np.generic] | np.generic, ...]
"""The arguments of a launch on the host: arrays as copies, scalars in their parameters' types."""


@dataclass(frozen=True, eq=False)
class Ready:
    """A form that a place compiled and can launch."""

    form: Form
    kernel: Kernel
    original: Kernel
    loaded: Any = None
    """Data of the place itself, such as the loaded module."""


class Place(Protocol):
    """The executor or a GPU."""

    checks_types: bool
    """Whether it launches arguments by their bits alone, so that their types must be looked at
    before."""
    undoes_failures: bool
    """Whether a failed launch leaves the arrays unchanged, so that the original can be launched
    after it."""

    def snapshot(self, call: Call, kernel: Kernel) -> Snapshot:
        """Copies of the arguments as they are now. Waits for the stream."""

    def run_original(self, call: Call, kernel: Kernel) -> None:
        """Launch the original, compiled as ``kernel``, where no library of the user launches it."""

    def prepare(self, form: Form, original: Kernel) -> Ready:
        """Compile and load a form of ``original``; raises PlacewiseError where that fails."""

    def attempt(
        self, ready: Ready, call: Call, before: Snapshot
    ) -> tuple[tuple[int, NDArray[np.generic]], ...]:
        """Run a form on copies of ``before``; the user's arrays do not change. Returns (argument,
        content afterwards) of every array."""

    def launcher(self, ready: Ready, call: Call) -> Callable[[], None]:
        """A function that launches a form in place of the original. On a GPU it may be called again
        for every call with the fingerprint of ``call``, and keeps none of its arrays alive. Both
        this method and the function raise DoubtError, before anything is launched, where the form
        cannot be used for this call."""


@dataclass(frozen=True)
class Where:
    """The place that a launch goes to, and its machine."""

    place: Place
    machine: Machine
    arch: str
    """The compiler's target for that machine, such as ``sm_80``."""
