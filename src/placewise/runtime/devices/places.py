"""Finds the place that a launch goes to, from the memory that its arrays are in."""

from __future__ import annotations

import threading

from placewise.errors import CaseError, PlacewiseError
from placewise.kernel.target import target_for
from placewise.machine import Machine
from placewise.runtime.devices.device_place import device_at, device_where
from placewise.runtime.devices.executor_place import ExecutorPlace
from placewise.runtime.devices.place import Where
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.doubt import DoubtError


class Places:
    """The executor, and the GPUs that arrays have been on so far. A GPU is opened only when an
    array is on it."""

    def __init__(self, machine: Machine | None) -> None:
        self._machine = machine
        self._lock = threading.Lock()
        self._executor: Where | None = None
        self._devices: dict[int, Where] = {}

    def of(self, call: Call) -> Where:
        """Where ``call`` goes. Raises CaseError where the executor must run it and no machine is
        given, and DoubtError where its arrays are not all on one GPU."""
        arrays = [array for _, array in call.arrays]
        if not arrays:
            raise DoubtError("it has no arrays")
        if not any(array.on_device for array in arrays):
            return self._on_executor()
        if not all(array.on_device for array in arrays):
            raise DoubtError("some of its arrays are in the host's memory, others on a GPU")
        try:
            ordinals = {device_at(array.address) for array in arrays}
            if len(ordinals) > 1:
                raise DoubtError("its arrays are on several GPUs")
            return self._on_device(ordinals.pop())
        except PlacewiseError as error:
            raise DoubtError(f"the GPU cannot be used: {error.message}") from error

    def _on_executor(self) -> Where:
        with self._lock:
            if self._executor is None:
                if self._machine is None:
                    raise CaseError(
                        "kernels on NumPy arrays run on the executor, which needs a machine",
                        where="machine",
                        hint='for instance placewise.tune(kernel, machine="A100")',
                    )
                arch, _ = target_for(self._machine.limits.compute_capability)
                self._executor = Where(ExecutorPlace(), self._machine, arch)
            return self._executor

    def _on_device(self, ordinal: int) -> Where:
        with self._lock:
            if ordinal not in self._devices:
                self._devices[ordinal] = device_where(ordinal, self._machine)
            return self._devices[ordinal]
