"""Results of :func:`placewise.tune`: callables that are launched with the same syntax as the
originals."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from placewise.errors import CaseError
from placewise.kernel.cases.make_case import dims
from placewise.kernel.launch import Launch
from placewise.machine import Machine
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.launches.fingerprint import fingerprint
from placewise.runtime.launches.values import ArrayValue, read_value
from placewise.runtime.report import TuneReport
from placewise.runtime.tuner import Tuner
from placewise.short_repr import ShortRepr


class Tuned(ShortRepr, ABC):
    """A kernel that finds out where its arrays should live. Other attributes are those of the
    original. Safe to use from several threads."""

    def __init__(self, original: Any, tuner: Tuner, machine: Machine | None) -> None:
        self._original = original
        self._machine = machine
        self._tuner = tuner

    def report(self) -> TuneReport:
        """The choices for each class of launches, what they cost, and when they have paid back."""
        return self._tuner.report()

    def _in_short(self) -> str:
        machine = "the GPU of its arrays" if self._machine is None else self._machine.name
        return f"{self._tuner.report().kernel} for {machine}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._original, name)

    @abstractmethod
    def _library_launches(self, values: Sequence[object]) -> bool:
        """Whether the user's library (not the executor) launches the original with ``values``."""

    # One parameter for each part of a launch.
    def _launch(
        self,
        grid: Any,
        block: Any,
        shared_bytes: Any,
        arguments: Sequence[Any],
        stream: Any,
        original: Callable[[], Any] | None,
    ) -> Any:
        """Launch through the tuner. ``original`` launches the original with the user's library, if
        there is one.

        A launch that is not a plain launch with arrays and numbers goes to the user's library
        directly. Raises CaseError where there is no such library.
        """
        known = _fingerprint(grid, block, shared_bytes, stream, arguments)
        if known is not None and self._tuner.repeat(known):
            return None
        try:
            values = tuple(read_value(a) for a in arguments)
        except DoubtError as error:
            if original is None or any(isinstance(a, np.ndarray) for a in arguments):
                raise CaseError(error.reason, where="arguments") from error
            self._tuner.doubt(error.reason)
            return original()
        if original is None or not self._library_launches(values):
            launch = Launch(dims("grid", grid), dims("block", block), int(shared_bytes or 0))
            return self._tuner.launch(Call(launch, values, None, stream_handle(stream), known))
        try:
            # Arguments that Placewise does not understand are left to the library.
            launch = Launch(dims("grid", grid), dims("block", block), int(shared_bytes or 0))
            handle = stream_handle(stream)
        except (CaseError, TypeError, ValueError) as error:
            self._tuner.doubt(f"a launch that is not understood ({error})")
            return original()
        if not any(isinstance(v, ArrayValue) and v.on_device for v in values):
            self._tuner.doubt("no array is on a GPU")
            return original()
        return self._tuner.launch(Call(launch, values, original, handle, known))


class TunedRaw(Tuned):
    """A CuPy ``RawKernel``, or a kernel of a ``RawModule``."""

    def __init__(self, raw: Any, name: str, tuner: Tuner, machine: Machine | None) -> None:
        is_module = hasattr(raw, "get_function") and not callable(raw)
        super().__init__(raw, tuner, machine)
        self._name = name
        self._is_module = is_module

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, **options: Any
    ) -> Any:
        """Launch as ``RawKernel`` does, on CuPy's current stream."""

        def original() -> Any:
            raw = self._original
            function = raw.get_function(self._name) if self._is_module else raw
            return function(grid, block, args, shared_mem=shared_mem, **options)

        if options or getattr(self._original, "enable_cooperative_groups", False):
            self._tuner.doubt("a launch with options of its own")
            return original()
        return self._launch(grid, block, shared_mem, args, _cupy_stream(args), original)

    def _library_launches(self, values: Sequence[object]) -> bool:
        return _is_for_gpu(values)


class TunedSource(Tuned):
    """A kernel given as CUDA C++ text, which no library of the user launches."""

    def __init__(self, tuner: Tuner, machine: Machine | None) -> None:
        super().__init__(None, tuner, machine)

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch ``grid`` blocks of ``block`` threads with ``args`` and ``shared_mem`` bytes of
        dynamic shared memory: on the executor for NumPy arrays, else on the arrays' GPU."""
        self._launch(grid, block, shared_mem, args, stream, None)

    def _library_launches(self, _values: Sequence[object]) -> bool:
        return False


class TunedCore(Tuned):
    """A ``Kernel`` of ``cuda.core``."""

    def __call__(self, stream: Any, config: Any, *args: Any) -> Any:
        """Launch like ``cuda.core.launch(stream, config, kernel, *args)``, but arrays are passed as
        objects, not by their address."""

        def original() -> Any:
            from cuda.core import launch

            plain = (_pointer(a) for a in args)
            return launch(stream, config, self._original, *plain)

        special = ("cluster", "is_cooperative", "programmatic_stream_serialization")
        if any(getattr(config, name, None) for name in special):
            self._tuner.doubt("a launch with clusters, cooperation or dependent launches")
            return original()
        return self._launch(config.grid, config.block, config.shmem_size, args, stream, original)

    def _library_launches(self, values: Sequence[object]) -> bool:
        return _is_for_gpu(values)


class TunedNumba(Tuned):
    """A ``@cuda.jit`` function of Numba."""

    def __getitem__(self, configuration: tuple[Any, ...]) -> Callable[..., Any]:
        """The launcher for ``[grid, block, stream, shared]``; ``stream`` and ``shared`` may be left
        out."""
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise CaseError(
                "a launch takes two to four values in brackets",
                where="launch",
                hint="tuned[grid, block](…), tuned[grid, block, stream, shared](…)",
            )
        grid, block, stream, shared = (*configuration, 0, 0)[:4]

        def launcher(*args: Any) -> Any:
            def original() -> Any:
                return self._original[configuration](*args)

            return self._launch(grid, block, shared, args, stream, original)

        return launcher

    configure = property(lambda self: lambda *configuration: self[configuration])
    """``tuned.configure(grid, block, stream, shared)``, as Numba has it."""

    def __call__(self, *_args: Any) -> Any:
        """Raises an error, like Numba: a launch needs its grid and block in brackets."""
        raise CaseError(
            "a kernel needs its grid and block", where="launch", hint="tuned[grid, block](…)"
        )

    def _library_launches(self, values: Sequence[object]) -> bool:
        return _is_for_gpu(values) or _numba_has_gpu()


def is_cuda_core(thing: object) -> bool:
    """Whether ``thing`` has the attributes of a ``Kernel`` of cuda.core."""
    return all(hasattr(thing, name) for name in ("num_arguments", "arguments_info", "occupancy"))


def stream_handle(stream: Any) -> int:
    """CUDA's handle of a stream of any library; 0 is the default stream. Raises TypeError."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("ptr", "handle"):
        found = getattr(stream, attribute, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    raise TypeError(f"a {type(stream).__name__} is not a stream")


def _fingerprint(
    grid: Any, block: Any, shared_bytes: Any, stream: Any, arguments: Sequence[Any]
) -> Hashable | None:
    try:
        return fingerprint(grid, block, shared_bytes, stream_handle(stream), arguments)
    except (TypeError, ValueError):
        # What the stream is will be found out by whoever launches.
        return None


def _is_for_gpu(values: Sequence[object]) -> bool:
    """Whether some array is on a GPU, or there are no arrays."""
    arrays = [v for v in values if isinstance(v, ArrayValue)]
    return not arrays or any(v.on_device for v in arrays)


def _pointer(argument: Any) -> Any:
    interface = getattr(argument, "__cuda_array_interface__", None)
    return argument if interface is None else int(interface["data"][0])


def _cupy_stream(arguments: Sequence[Any]) -> Any:
    """CuPy's current stream; None where CuPy is not in use, and for launches on NumPy arrays: CuPy
    has no stream on a computer without a GPU."""
    cupy = sys.modules.get("cupy")
    if cupy is None or any(isinstance(a, np.ndarray) for a in arguments):
        return None
    return cupy.cuda.get_current_stream()


def _numba_has_gpu() -> bool:
    from numba import cuda

    return bool(cuda.is_available())
