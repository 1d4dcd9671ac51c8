"""Launches on the CPU executor, on NumPy arrays, which the kernel changes in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.executor.device_memory.device_array import DeviceArray
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.result import Execution
from placewise.executor.runtime.resolve import DeviceArgument
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch, TextureArgument
from placewise.runtime.devices.pieces import Piece, cut, put_back
from placewise.runtime.devices.place import Ready, Snapshot
from placewise.runtime.form import Form, Texels, compile_form
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.values import ArrayValue, as_bytes, copied, overlaps, typed_scalar


class ExecutorPlace:
    """The executor as the place where kernels run. Several threads may use it at once, since each
    launch runs on memory of its own."""

    checks_types = True
    """The executor takes an array's bytes, whatever its type."""
    undoes_failures = True
    """A launch that fails leaves the arrays as they were."""

    def snapshot(self, call: Call, kernel: Kernel) -> Snapshot:
        """Copies of the arrays, and the scalars in their parameters' types."""
        return tuple(
            copied(v.thing) if isinstance(v, ArrayValue) else typed_scalar(v, kernel, n)
            for n, v in enumerate(call.values)
        )

    def run_original(self, call: Call, kernel: Kernel) -> None:
        """Launch the original. Raises CaseError and ExecutionError; the arrays are then
        unchanged."""
        self._run(kernel, call.launch, call, None, kernel)

    def prepare(self, form: Form, original: Kernel) -> Ready:
        """Compile a form."""
        return Ready(form, compile_form(form, original), original)

    def attempt(
        self, ready: Ready, call: Call, before: Snapshot
    ) -> tuple[tuple[int, NDArray[np.generic]], ...]:
        """Run the form on copies of ``before``. Returns (argument, content afterwards) of every
        array."""
        copies = [copied(v) if isinstance(v, np.ndarray) else v for v in before]
        _launch(ready.kernel, ready.form.launch_like(call.launch), copies, ready.form)
        return tuple((n, c) for n, c in enumerate(copies) if isinstance(c, np.ndarray))

    def launcher(self, ready: Ready, call: Call) -> Callable[[], None]:
        """A function that launches a form in place of the original."""
        launch = ready.form.launch_like(call.launch)
        return partial(self._run, ready.kernel, launch, call, ready.form, ready.original)

    def _run(
        self, kernel: Kernel, launch: Launch, call: Call, form: Form | None, original: Kernel
    ) -> None:
        values: list[NDArray[np.generic] | np.generic] = []
        for n, value in enumerate(call.values):
            if not isinstance(value, ArrayValue):
                values.append(typed_scalar(value, original, n))
                continue
            if not value.contiguous:
                raise CaseError(
                    f"the array of shape {value.shape} is not contiguous in C order",
                    where=f"argument {n + 1}",
                    hint="pass np.ascontiguousarray(array)",
                )
            values.append(value.thing)
        for m, n in overlaps(call.values):
            one, other = values[m], values[n]
            assert isinstance(one, np.ndarray)
            assert isinstance(other, np.ndarray)
            if _where(one) != _where(other):
                raise UnsupportedError(
                    f"arguments {m + 1} and {n + 1} overlap partly; the executor takes only arrays "
                    "that are the same or do not overlap",
                    where="arguments",
                )
        _launch(kernel, launch, values, form)


def _where(array: NDArray[np.generic]) -> tuple[object, ...]:
    place: int = array.__array_interface__["data"][0]
    return (place, array.shape, array.dtype)


def _launch(
    kernel: Kernel,
    launch: Launch,
    values: Sequence[NDArray[np.generic] | np.generic],
    form: Form | None,
) -> Execution:
    """Run ``kernel`` on copies of the arrays and copy what it wrote back to them."""
    memory = DeviceMemory()
    uploaded: dict[tuple[object, ...], DeviceArray] = {}
    passed: list[DeviceArgument] = []
    cuts: list[tuple[Piece, DeviceArray]] = []
    parameters = range(len(values)) if form is None else form.parameters
    for parameter in parameters:
        if isinstance(parameter, Texels):
            passed.append(_texture(parameter, values[parameter.argument], len(passed)))
            continue
        if isinstance(parameter, Piece):
            content = cut(np.asarray(values[parameter.argument]), parameter)
            cuts.append((parameter, memory.upload(f"piece {len(passed) + 1}", content)))
            passed.append(cuts[-1][1])
            continue
        value = values[parameter]
        if not isinstance(value, np.ndarray):
            passed.append(value)
            continue
        where = _where(value)
        if where not in uploaded:
            # A zero-dimensional array is passed by pointer as an array of one element.
            uploaded[where] = memory.upload(f"argument {parameter + 1}", np.atleast_1d(value))
        passed.append(uploaded[where])
    for symbol, at, number in form.constants if form is not None else ():
        memory.store(kernel, symbol, np.asarray(values[number]), at)
    result = memory.launch(kernel, launch, passed)
    _copy_back(result, uploaded, values)
    for piece, array in cuts:
        if array.name in result.written:
            put_back(np.asarray(values[piece.argument]), piece, array.view())
    return result


def _texture(
    texels: Texels, value: NDArray[np.generic] | np.generic, number: int
) -> TextureArgument:
    flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8).view(texels.dtype)
    data = flat if texels.channels == 1 else flat.reshape(-1, texels.channels)
    return TextureArgument(f"texture {number + 1}", data)


def _copy_back(
    result: Execution,
    uploaded: dict[tuple[object, ...], DeviceArray],
    values: Sequence[NDArray[np.generic] | np.generic],
) -> None:
    changed = {}
    for value in values:
        if isinstance(value, np.ndarray) and (array := uploaded.get(_where(value))) is not None:
            if array.name in result.written and not value.flags.writeable:
                raise CaseError("the kernel writes to a read-only array", where=array.name)
            changed[array.name] = (value, array)
    for name, (value, array) in changed.items():
        if name in result.written:
            as_bytes(value)[:] = as_bytes(array.view())
