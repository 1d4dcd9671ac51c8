"""Launches on a GPU beside the user's library: in its CUDA context, on its streams and its
memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.gpu.device import Device, Scope, load_driver
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch
from placewise.kernel.passing import NumbaArray, NumbaScalar, Passing
from placewise.machine import Machine
from placewise.machine.device_machine import machine_for
from placewise.runtime.devices.device_pieces import (
    Fields,
    compile_copy,
    fields_of,
    fields_table,
    queue_copy,
)
from placewise.runtime.devices.pieces import Piece
from placewise.runtime.devices.place import Ready, Snapshot, Where
from placewise.runtime.form import Form, Texels, compile_form
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.launches.facts import written_parameters
from placewise.runtime.launches.values import ArrayValue, typed_scalar

_MOST_TEXTURES = 256
"""Most texture objects of a form. They are destroyed only together with the form, since a launch
that reads through one may still be queued."""


@dataclass(frozen=True)
class _Array:
    """An array on the GPU."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(eq=False)
class _Loaded:
    """The loaded module of a form."""

    function: Any
    symbols: dict[str, tuple[Any, int]]
    """Address and bytes of each constant."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held from a launch's copies to the launch itself, so that no other launch of the form comes
    between them."""
    stream: int | None = None
    """The only stream on which a form with constants or pieces is launched: launches on another
    stream would overwrite them while launches on this one read them."""
    textures: dict[tuple[int, int, Texels], Any] = field(default_factory=dict)
    pieces: dict[Piece, int] = field(default_factory=dict)
    """Addresses of the pieces' own memory."""
    fields: tuple[Fields, ...] = ()
    """Arrays that are copied into pieces."""
    changed: frozenset[int] = frozenset()
    """Numbers of the arrays that are copied back from their pieces after a launch."""


@dataclass(frozen=True, eq=False)
class _Packed:
    """Parameters as the driver takes them. It must be alive until the launch is queued."""

    parameters: list[NDArray[Any]]
    addresses: NDArray[np.uint64]
    at: int
    """Where the addresses of the parameters are."""

    @staticmethod
    def of(parameters: list[NDArray[Any]]) -> _Packed:
        """Pack ``parameters``."""
        addresses = np.array([p.ctypes.data for p in parameters], np.uint64)
        return _Packed(parameters, addresses, addresses.ctypes.data)


def device_at(address: int, driver: Any = None) -> int:
    """Number of the GPU whose memory ``address`` is in; raises DoubtError where there is none."""
    cuda = load_driver() if driver is None else driver
    kind = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    try:
        status, ordinal = cuda.cuPointerGetAttribute(kind, address)
    except RuntimeError as error:
        raise DoubtError("there is no driver") from error
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise DoubtError(f"the driver does not know an array's address ({status.name})")
    return int(ordinal)


class DevicePlace:
    """One GPU. Originals are launched by the user's library, forms here."""

    checks_types = False
    undoes_failures = False

    def __init__(self, device: Device) -> None:
        self.device = device
        self._scope = Scope(device)
        self._nvrtc = device.target.nvrtc
        self._alignment = device.attribute("TEXTURE_ALIGNMENT")
        self._lock = threading.Lock()
        self._copy: Any = None
        """The loaded kernel that copies fields; None before its first use."""
        self._originals: dict[int, Ready] = {}
        """Original kernels that are launched here, since no library of the user launches them; by
        identity."""

    def snapshot(self, call: Call, kernel: Kernel) -> Snapshot:
        """Copies of the arguments on the host. Waits for the stream. Raises DoubtError while the
        stream is being recorded into a graph, since waiting is then not allowed."""
        self._enter(call.stream)
        self.device.call("cuStreamSynchronize", call.stream)
        return tuple(
            self._download(v) if isinstance(v, _Array) else v for v in _values(call, kernel)
        )

    def run_original(self, call: Call, kernel: Kernel) -> None:
        """Launch the original kernel where no library of the user launches it. Raises
        DeviceError."""
        self._enter(call.stream)
        with self._lock:
            ready = self._originals.get(id(kernel))
            if ready is None:
                parameters = tuple(range(len(call.values)))
                form = Form(
                    Language.CUDA, "", kernel.filename, kernel.name, CompileOptions(),
                    call.launch.shared_bytes, parameters, (), (),
                )  # fmt: skip
                ready = self._load(form, kernel, kernel)
                self._originals[id(kernel)] = ready
        self._queued(ready, call.launch, _values(call, kernel), call.stream, self._scope)()

    def prepare(self, form: Form, original: Kernel) -> Ready:
        """Compile a form and load its module."""
        return self._load(form, compile_form(form, original, self._nvrtc), original)

    def attempt(
        self, ready: Ready, call: Call, before: Snapshot
    ) -> tuple[tuple[int, NDArray[np.generic]], ...]:
        """Run the form on copies of ``before`` in separate memory. Returns (argument, content
        afterwards) of every array."""
        self._enter(call.stream)
        with Scope(self.device) as scope:
            copies = [
                _Array(int(scope.upload(v)), v.shape, v.dtype) if isinstance(v, np.ndarray) else v
                for v in before
            ]
            self._queued(ready, ready.form.launch_like(call.launch), copies, call.stream, scope)()
            self.device.call("cuStreamSynchronize", call.stream)
            found = tuple(
                (n, self._download(v)) for n, v in enumerate(copies) if isinstance(v, _Array)
            )
        # The memory of this attempt is freed, so stream and textures that belong to it are
        # forgotten.
        ready.loaded.stream = None
        return found

    def launcher(self, ready: Ready, call: Call) -> Callable[[], None]:
        """A function that queues a form in place of the original. Raises DoubtError, before
        anything is queued, where the form cannot be used for this call, and DeviceError."""
        stream = call.stream
        self._enter(stream, recorded=True)
        values = _values(call, ready.original)
        queue = self._queued(ready, ready.form.launch_like(call.launch), values, stream, None)

        def launch() -> None:
            self._enter(stream, recorded=True)
            queue()

        return launch

    def _enter(self, stream: int, *, recorded: bool = False) -> None:
        """Make the GPU's context current if this thread has none. Raises DoubtError if it has
        another one, and, unless ``recorded``, if the stream is being recorded into a graph."""
        current = self.device.call("cuCtxGetCurrent")
        if not int(current):
            self.device.call("cuCtxSetCurrent", self.device.context)
        elif int(current) != int(self.device.context):
            raise DoubtError("the thread has another CUDA context")
        if recorded:
            return
        status = self.device.call("cuStreamIsCapturing", stream)
        if status != self.device.cuda.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE:
            raise DoubtError("the stream is being recorded into a graph")

    def _load(self, form: Form, kernel: Kernel, original: Kernel) -> Ready:
        if kernel.cubin is None:
            raise DoubtError("there is no machine code for this GPU")
        module = self._scope.module(kernel.cubin)
        function = self._scope.function(module, kernel.entry, form.shared_bytes)
        symbols = {
            symbol: self.device.call("cuModuleGetGlobal", module, symbol.encode())
            for symbol, _, _ in form.constants
        }
        loaded = _Loaded(function, symbols)
        if form.pieces:
            self._load_pieces(form, kernel, loaded)
        return Ready(form, kernel, original, loaded)

    def _load_pieces(self, form: Form, kernel: Kernel, loaded: _Loaded) -> None:
        """Allocate memory for the pieces of a form, and prepare the copying kernel's table."""
        with self._lock:
            if self._copy is None:
                made = compile_copy(kernel.arch, self._nvrtc)
                assert made.cubin is not None, "NVRTC makes machine code for a GPU"
                self._copy = self._scope.function(self._scope.module(made.cubin), made.entry, 0)
        loaded.pieces = {p: int(self._scope.allocate(p.size)) for p in form.pieces}
        fields = []
        for argument in dict.fromkeys(p.argument for p in form.pieces):
            own = [p for p in form.pieces if p.argument == argument]
            table = fields_table([(p, loaded.pieces[p]) for p in own])
            fields.append(fields_of(own, int(self._scope.upload(table))))
        loaded.fields = tuple(fields)
        pieces = {n: p for n, p in enumerate(form.parameters) if isinstance(p, Piece)}
        written = written_parameters(kernel, frozenset(pieces))
        loaded.changed = frozenset(pieces[n].argument for n in written)

    # One parameter for each part of a launch.
    def _queued(
        self,
        ready: Ready,
        launch: Launch,
        values: Sequence[_Array | np.generic],
        stream: int,
        scope: Scope | None,
    ) -> Callable[[], None]:
        """A function that queues a form with ``values``. Its textures are destroyed with ``scope``,
        or with the form if ``scope`` is None."""
        form, loaded = ready.form, ready.loaded
        with loaded.lock:
            parameters = self._parameters(ready, values, scope)
        constants = [_into_constant(loaded.symbols[c[0]], c, values) for c in form.constants]
        fields = [(cut, _address(values[cut.argument])) for cut in loaded.fields]
        owned = bool(form.constants or form.pieces)
        # Packed once: a launch that is repeated is to cost the host little.
        packed = _Packed.of(parameters)
        copy = partial(self._queue, self._copy, stream)

        def queue() -> None:
            with loaded.lock:
                if owned and loaded.stream not in (None, stream):
                    raise DoubtError(
                        "its constants or pieces are in use by launches on another stream"
                    )
                loaded.stream = stream
                for to, source, size in constants:
                    self.device.call("cuMemcpyDtoDAsync", to, source, size, stream)
                for cut, address in fields:
                    queue_copy(copy, address, cut, back=False)
                self._queue_packed(loaded.function, stream, launch, packed.at)
                for cut, address in fields:
                    if cut.argument in loaded.changed:
                        queue_copy(copy, address, cut, back=True)

        return queue

    def _parameters(
        self, ready: Ready, values: Sequence[_Array | np.generic], scope: Scope | None
    ) -> list[NDArray[Any]]:
        """The kernel's parameters, each as an array with its value."""
        loaded, passing = ready.loaded, ready.kernel.passing
        parameters: list[NDArray[Any]] = []
        for parameter in ready.form.parameters:
            if isinstance(parameter, Texels):
                parameters.append(self._texture(parameter, values, loaded, scope))
            elif isinstance(parameter, Piece):
                parameters.append(np.array([loaded.pieces[parameter]], np.uint64))
            else:
                how = None if passing is None else passing[parameter]
                parameters += _bytes(values[parameter], how)
        return parameters

    def _queue(
        self, function: Any, stream: int, launch: Launch, parameters: list[NDArray[Any]]
    ) -> None:
        packed = _Packed.of(parameters)
        self._queue_packed(function, stream, launch, packed.at)

    def _queue_packed(self, function: Any, stream: int, launch: Launch, addresses: int) -> None:
        self.device.call(
            "cuLaunchKernel", function, *launch.grid, *launch.block, launch.shared_bytes, stream,
            addresses, 0,
        )  # fmt: skip

    def _texture(
        self,
        texels: Texels,
        values: Sequence[_Array | np.generic],
        loaded: _Loaded,
        scope: Scope | None,
    ) -> NDArray[np.uint64]:
        array = values[texels.argument]
        assert isinstance(array, _Array)
        if array.address % self._alignment:
            raise DoubtError(f"a texture's address must be a multiple of {self._alignment}")
        key = (array.address, array.nbytes, texels)
        handle = loaded.textures.get(key) if scope is None else None
        if handle is None:
            if scope is None and len(loaded.textures) >= _MOST_TEXTURES:
                raise DoubtError(f"its launches used more than {_MOST_TEXTURES} texture objects")
            elements = array.nbytes // np.dtype(texels.dtype).itemsize
            shape = (elements,) if texels.channels == 1 else (-1, texels.channels)
            # Only the type and shape of this array are used.
            like = np.broadcast_to(np.zeros(1, texels.dtype), (elements,)).reshape(shape)
            handle = (scope or self._scope).texture_over(array.address, like)
            if scope is None:
                loaded.textures[key] = handle
        return np.array([int(handle)], np.uint64)

    def _download(self, array: _Array) -> NDArray[np.generic]:
        data: NDArray[np.generic] = np.empty(array.shape, array.dtype)
        self.device.call("cuMemcpyDtoH", data.ctypes.data, array.address, data.nbytes)
        return data


def device_where(ordinal: int, machine: Machine | None, driver: Any = None) -> Where:
    """GPU number ``ordinal`` as a place. Its machine is ``machine``, or else the bundled machine
    that is nearest to it. Raises DeviceError."""
    device = Device(ordinal, driver)
    major = device.attribute("COMPUTE_CAPABILITY_MAJOR")
    minor = device.attribute("COMPUTE_CAPABILITY_MINOR")
    machine = machine or machine_for(device.name, (major, minor))
    return Where(DevicePlace(device), machine, device.target.arch)


def _values(call: Call, kernel: Kernel) -> list[_Array | np.generic]:
    """The arguments of a call: arrays on the GPU, and scalars in the types of their parameters."""
    return [
        _Array(v.address, v.shape, v.dtype)
        if isinstance(v, ArrayValue)
        else typed_scalar(v, kernel, n)
        for n, v in enumerate(call.values)
    ]


def _into_constant(
    symbol: tuple[Any, int],
    constant: tuple[str, int, int],
    values: Sequence[_Array | np.generic],
) -> tuple[int, int, int]:
    """Destination, source and bytes of the copy of an array into constant memory. ``symbol`` has
    the address and bytes of ``constant``: its name, the place in it, and the array's number."""
    address, size = symbol
    name, at, number = constant
    array = values[number]
    assert isinstance(array, _Array)
    if at + array.nbytes > size:
        raise DoubtError(
            f"{name} holds {size - at} bytes from byte {at} on, the array {array.nbytes}"
        )
    return int(address) + at, array.address, array.nbytes


def _address(value: _Array | np.generic) -> int:
    assert isinstance(value, _Array)
    return value.address


def _bytes(value: _Array | np.generic, how: Passing | None) -> list[NDArray[Any]]:
    """The kernel's parameters for one argument, each as an array with its value."""
    if isinstance(value, _Array):
        if not isinstance(how, NumbaArray):
            return [np.array([value.address], np.uint64)]
        strides = [
            value.dtype.itemsize * int(np.prod(value.shape[axis + 1 :], dtype=np.int64))
            for axis in range(len(value.shape))
        ]
        size = value.nbytes // value.dtype.itemsize
        numbers = [0, 0, size, value.dtype.itemsize, value.address, *value.shape, *strides]
        return [np.array([n], np.uint64) for n in numbers]
    if isinstance(how, NumbaScalar) and how.dtype.startswith("complex"):
        whole = np.array([value])
        return [whole.real.copy(), whole.imag.copy()]
    return [np.array([value])]
