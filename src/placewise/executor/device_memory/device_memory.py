"""Device memory that outlives a launch, so that a whole host loop runs from Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.executor.check.checked import Check
from placewise.executor.device_memory.address_space import (
    FIRST_WINDOW,
    HEAP_WINDOW,
    LAST_WINDOW,
    empty_windows,
)
from placewise.executor.device_memory.device import Bytes, Device, IdleKey, Region, room_for
from placewise.executor.device_memory.device_array import DeviceArray
from placewise.executor.device_memory.device_texture import DeviceTexture
from placewise.executor.device_memory.loaded_module import LoadedModule, load
from placewise.executor.device_memory.module_memory import (
    check_type,
    find_variable,
    initial_content,
    plain_name,
)
from placewise.executor.lowering.module_variables import module_variables
from placewise.executor.result import Execution
from placewise.executor.runtime.arguments import parameter_bytes
from placewise.executor.runtime.resolve import DeviceArgument, resolve, written_through
from placewise.executor.runtime.run import DEFAULT_LIMIT, TRACE_SPACES, Progress, run_on
from placewise.executor.runtime.worker import Worker
from placewise.executor.texture.texture_words import texel_read, texture_words
from placewise.executor.trace import CompiledConsumer, TraceConsumer
from placewise.executor.translate import parsed
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Launch, SurfaceArgument, TextureArgument
from placewise.kernel.ptx.module import Variable
from placewise.kernel.texture import Geometry, Sampler, Texels, texels_of

HEAP_BYTES = 1 << 26
"""Heap of device code. A device has 8 MB unless the host asks for more (CUDA C++ Programming Guide,
dynamic global memory allocation); host code is not seen here."""
_HEAP = "device heap"
UNINITIALISED = 0xFF
"""Byte of memory that was never written: NaN as a float, -1 as an integer, so that it shows."""

KEPT_FOR_VARIABLES = 256
"""Windows that arrays leave to module variables."""

LARGE = 1 << 31
"""Fewest bytes of an array for which 32-bit offsets do not suffice."""


class DeviceMemory:
    """Arrays and module variables that several launches share.

    Addresses stay the same as long as an array lives, so they can be stored in other arrays and in
    structs. Kernels of one module (equal PTX text) share its variables. One thread at a time.
    """

    def __init__(self) -> None:
        self._regions: dict[int, Region] = {}
        """By window. Variables take windows from the first one up, arrays from the last one down:
        a module's addresses, which its machine code holds, rarely depend on the arrays."""
        self._names: list[str] = []
        self._array_names: set[str] = set()
        self._next_variable = FIRST_WINDOW
        self._next_array = LAST_WINDOW
        self._freed: deque[Region] = deque()
        self._modules: dict[str, LoadedModule] = {}
        self._textures: dict[int, DeviceTexture] = {}
        """By the identity of the argument that they were made of."""
        self._windows = empty_windows()
        self._version = 0
        self._idle: dict[IdleKey, list[Worker]] = {}
        self._snapshot: Device | None = None

    def upload(
        self, name: str, data: NDArray[Any] | np.generic, *, borrow: bool = False
    ) -> DeviceArray:
        """A copy of ``data`` in device memory; ``name`` is for messages and the trace.
        With ``borrow`` it is not copied; then no kernel may be run that writes to it, and NumPy
        refuses to write to it.

        Raises CaseError where the name is taken or the elements are Python objects.
        """
        given = np.asarray(data)
        if given.dtype.hasobject:
            raise CaseError(f"arrays of {given.dtype} have no bytes", where=f"array '{name}'")
        content = np.ascontiguousarray(given).reshape(-1).view(np.uint8)
        region = self._array(name, content, borrow=borrow)
        return DeviceArray(self, region, given.shape, given.dtype)

    def alloc(self, name: str, shape: int | Sequence[int], dtype: DTypeLike) -> DeviceArray:
        """Uninitialised memory, as ``cudaMalloc`` gives it: every byte is 0xFF until written."""
        dims = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        element = np.dtype(dtype)
        if any(d < 0 for d in dims):
            raise CaseError(f"shape {dims} has a negative extent", where=f"array '{name}'")
        size = prod(dims) * element.itemsize
        region = self._array(name, None, size)
        return DeviceArray(self, region, dims, element)

    def free(self, array: DeviceArray) -> None:
        """Give memory back; later accesses to it, from Python or a kernel, are errors."""
        region = array.region
        if not self.is_live(region):
            raise CaseError("freed twice", where=f"array '{array.name}'")
        if any(region in loaded.regions.values() for loaded in self._modules.values()):
            raise CaseError(
                "a module's variable cannot be freed: it lives as long as the memory",
                where=f"symbol '{array.name}'",
            )
        for other in self.regions():
            if other.array == region.array and other is not region:
                # A texture or surface object over the array.
                del self._regions[other.window]
                self._windows[other.window, 1:] = 0, 0, -1, 0, 0, 0, 0
        del self._regions[region.window]
        self._array_names.discard(region.name)
        # Its name and window stay known, for messages about dangling pointers.
        empty = np.zeros(0, np.uint8)
        self._freed.append(Region(region.window, region.name, empty, region.array, False))
        self._windows[region.window, 1:] = 0, 0, -1, 0, 0, 0, 0
        self._changed()

    def symbol(self, kernel: Kernel, name: str, dtype: DTypeLike = np.uint8) -> DeviceArray:
        """A ``__device__`` or ``__constant__`` variable of the kernel's module, as elements of
        ``dtype``. ``name`` is as in the source or in the PTX. Raises CaseError where there is none.
        """
        where = f"symbol '{name}'"
        region = self._variable(kernel, name, where)
        element = np.dtype(dtype)
        if region.data.size % element.itemsize:
            raise CaseError(
                f"its {region.data.size} bytes are not a whole number of {element}", where=where
            )
        shape = (region.data.size // element.itemsize,)
        return DeviceArray(self, region, shape, element)

    def constant(
        self,
        kernel: Kernel,
        name: str,
        value: NDArray[Any] | np.generic,
        offset_bytes: int | None = None,
    ) -> None:
        """Set a ``__constant__`` (or ``__device__``) variable, as ``cudaMemcpyToSymbol`` does: all
        of it or, with ``offset_bytes``, as much as ``value`` has from there on.

        Raises CaseError where the module has no such variable or ``value`` has another size, and
        where its type is not that of the variable, as far as the kernel's source or PTX tells it.
        """
        data = np.ascontiguousarray(value)
        where = f"constant '{name}'"
        variable = find_variable(name, self._load(kernel).variables, where)
        check_type(kernel, variable, data, where, is_part=offset_bytes is not None)
        self.store(kernel, name, value, offset_bytes)

    def store(
        self,
        kernel: Kernel,
        name: str,
        value: NDArray[Any] | np.generic,
        offset_bytes: int | None = None,
        given: NDArray[Any] | None = None,
    ) -> None:
        """Set a variable as :meth:`constant` does, whatever the type of ``value``. ``given`` is
        what messages show in its place.

        Raises CaseError where the module has no such variable or ``value`` has another size.
        """
        data = np.ascontiguousarray(value)
        where = f"constant '{name}'"
        target = self._variable(kernel, name, where)
        shown = np.asarray(value) if given is None else given
        room = target.data.size - (offset_bytes or 0)
        if data.nbytes > room or (offset_bytes is None and data.nbytes < room):
            raise CaseError(
                f"{shown.dtype} of shape {shown.shape} has {data.nbytes} bytes, but the "
                f"variable has {room}" + (f" from byte {offset_bytes} on" if offset_bytes else ""),
                where=where,
            )
        first = offset_bytes or 0
        target.data[first : first + data.nbytes] = data.reshape(-1).view(np.uint8)

    # Public and keyword-only: one parameter for each option of a launch.
    def launch(
        self,
        kernel: Kernel,
        launch: Launch,
        arguments: Sequence[DeviceArgument],
        *,
        consumer: TraceConsumer | CompiledConsumer | None = None,
        trace_blocks: NDArray[np.bool_] | None = None,
        trace_spaces: frozenset[str] = TRACE_SPACES,
        run_blocks: NDArray[np.integer[Any]] | None = None,
        instruction_limit: int | None = DEFAULT_LIMIT,
        progress: Progress | None = None,
        threads: int | None = None,
        check: Check | None = None,
        count_by_block: bool = False,
    ) -> Execution:
        """Run ``kernel`` on this memory; options and errors are those of :func:`execute`.

        ``arguments`` come in parameter order. The result's ``outputs`` are views of the arrays
        among them, which later launches change; take :meth:`DeviceArray.download` for copies.
        An array that the kernel writes to counts as initialised; with ``check``, the bytes do
        that were written.
        """
        device = self.prepare(kernel, arguments)
        arrays = {
            a.name: a.view() for a in (written_through(self, x) for x in arguments) if a is not None
        }
        result = run_on(
            device,
            kernel,
            launch,
            tuple(arrays.items()),
            consumer=consumer,
            trace_blocks=trace_blocks,
            trace_spaces=trace_spaces,
            run_blocks=run_blocks,
            instruction_limit=instruction_limit,
            progress=progress,
            threads=threads,
            check=check,
            count_by_block=count_by_block,
        )
        if check is None:
            for region in device.regions:
                if region.defined is not None and region.name in result.written:
                    region.defined[:] = 1
        return result

    def prepare(self, kernel: Kernel, arguments: Sequence[DeviceArgument]) -> Device:
        """The memory as a launch of ``kernel`` with ``arguments`` sees it.

        Raises CaseError where the arguments do not fit the kernel."""
        loaded = self._load(kernel)
        passed = resolve(self, kernel, arguments)
        parameters = parsed(kernel).parameters
        buffer, textures = parameter_bytes(parameters, passed)
        return replace(
            self._device(),
            parameters=buffer,
            textures=textures,
            first_window=loaded.first_window,
        )

    def is_live(self, region: Region) -> bool:
        """Whether a region's memory was not freed."""
        return self._regions.get(region.window) is region

    def regions(self) -> tuple[Region, ...]:
        """All memory in use, arrays and module variables."""
        return tuple(self._regions.values())

    def _device(self) -> Device:
        """The memory as a launch sees it, without the kernel's own parameters and variables."""
        if self._snapshot is None:
            self._snapshot = Device(
                regions=self.regions(),
                arrays=tuple(self._names),
                parameters=np.zeros(0, np.uint8),
                textures={},
                first_window=FIRST_WINDOW,
                large=any(r.data.size >= LARGE for r in self._regions.values()),
                freed={r.window: r.name for r in self._freed},
                windows=self._windows,
                version=self._version,
                idle=self._idle,
            )
        return self._snapshot

    def _array(
        self,
        name: str,
        content: Bytes | None,
        size: int = 0,
        *,
        writable: bool = True,
        texture: NDArray[np.int64] | None = None,
        borrow: bool = False,
    ) -> Region:
        """A new array: a copy of ``content`` (``content`` itself with ``borrow``), or, where it is
        None, ``size`` uninitialised bytes."""
        if name in self._array_names:
            raise CaseError(
                "this memory has an array of that name already",
                where=f"array '{name}'",
                hint="free it first, or write() to it",
            )
        size = size if content is None else content.size
        if borrow and content is not None:
            room = content.view()
            room.flags.writeable = False
        else:
            room = room_for(size, name)
            room[:] = UNINITIALISED if content is None else content
        if self._next_array >= max(self._next_variable, FIRST_WINDOW + KEPT_FOR_VARIABLES):
            window, number = self._next_array, len(self._names)
            self._next_array -= 1
            self._names.append(name)
        elif self._freed:
            reused = self._freed.popleft()
            window, number = reused.window, reused.array
            self._names[number] = name
        else:
            raise _full(len(self._regions))
        defined = np.zeros(size, np.uint8) if content is None else None
        self._array_names.add(name)
        return self._keep(Region(window, name, room, number, writable, defined, texture))

    def _keep(self, region: Region) -> Region:
        self._regions[region.window] = region
        size, writable = region.data.size, region.data.size if region.writable else 0
        words = 0 if region.texture is None else region.texture.ctypes.data
        row = size, region.data.ctypes.data, region.array, writable, words
        self._windows[region.window, 1:6] = row
        self._changed()
        return region

    def _changed(self) -> None:
        self._snapshot = None
        self._version += 1

    def _load(self, kernel: Kernel) -> LoadedModule:
        """The kernel's module in this memory, its variables initialised on first use."""
        loaded = self._modules.get(kernel.ptx)
        if loaded is None:
            module = parsed(kernel)
            if "malloc" in module.declared:
                self._heap()
            count = len(module_variables(module))
            first = self._next_variable if count else FIRST_WINDOW
            if first + count > self._next_array + 1:
                raise _full(len(self._regions))
            self._next_variable += count
            loaded, contents = load(module, first)
            for window, (variable, content) in enumerate(contents, start=first):
                loaded.regions[variable.name] = self._of_variable(window, variable, content)
            self._modules[kernel.ptx] = loaded
        return loaded

    def _heap(self) -> None:
        """Memory for ``malloc`` in device code, shared by all modules."""
        if HEAP_WINDOW not in self._regions:
            data, number = np.zeros(HEAP_BYTES, np.uint8), len(self._names)
            self._names.append(_HEAP)
            self._keep(Region(HEAP_WINDOW, _HEAP, data, number, writable=True))

    def _of_variable(self, window: int, variable: Variable, content: Bytes) -> Region:
        data, number = room_for(variable.size, variable.name), len(self._names)
        data[:] = content
        self._names.append(plain_name(variable.name))
        writable = variable.space != "const"
        return self._keep(Region(window, self._names[-1], data, number, writable))

    def _variable(self, kernel: Kernel, name: str, where: str) -> Region:
        loaded = self._load(kernel)
        variable = find_variable(name, loaded.variables, where)
        region = loaded.regions.get(variable.name)
        if region is None:
            # No code knows its address, so any window will do.
            content = initial_content(variable, loaded.addresses)
            region = self._of_variable(self._free_window(), variable, content)
            loaded.regions[variable.name] = region
        return region

    def _free_window(self) -> int:
        if self._next_array < max(self._next_variable, FIRST_WINDOW + KEPT_FOR_VARIABLES):
            raise _full(len(self._regions))
        self._next_array -= 1
        return self._next_array + 1

    def texture(self, argument: TextureArgument | SurfaceArgument) -> DeviceTexture:
        """The texture or surface object of an argument, with a copy of its data. Made once: at the
        first call, or the first launch that passes the argument.

        Raises CaseError where the data cannot be such a texture.
        """
        known = self._textures.get(id(argument))
        if known is None:
            texels = texels_of(argument, f"texture '{argument.name}'")
            data = np.ascontiguousarray(argument.data).reshape(-1).view(np.uint8)
            writable = isinstance(argument, SurfaceArgument)
            words = texture_words(argument, texels)
            region = self._array(argument.name, data, writable=writable, texture=words)
            array = DeviceArray(self, region, argument.data.shape, argument.data.dtype)
            known = DeviceTexture(self, region, argument, array, texel_read(argument, texels))
            self._textures[id(argument)] = known
        return known

    def texture_of(
        self,
        array: DeviceArray,
        geometry: Geometry = "linear",
        sampler: Sampler = Sampler(),  # noqa: B008  (frozen)
        width: int | None = None,
    ) -> DeviceTexture:
        """A texture object that shows ``array`` itself, as later launches will change it.

        Options as of :class:`TextureArgument`. Raises CaseError where the array cannot be one.
        """
        view = array.view()
        return self._over(array, TextureArgument(array.name, view, geometry, sampler, width))

    def surface_of(self, array: DeviceArray, geometry: Geometry = "2d") -> DeviceTexture:
        """A surface object that shows ``array`` itself. Raises CaseError where it cannot be one."""
        return self._over(array, SurfaceArgument(array.name, array.view(), geometry))

    def _over(
        self, array: DeviceArray, argument: TextureArgument | SurfaceArgument
    ) -> DeviceTexture:
        texels: Texels = texels_of(argument, f"texture '{argument.name}'")
        window = self._free_window()
        shown = replace(array.region, window=window, texture=texture_words(argument, texels))
        return DeviceTexture(self, self._keep(shown), argument, array, texel_read(argument, texels))


def _full(arrays: int) -> UnsupportedError:
    return UnsupportedError(
        f"more than {arrays} arrays and module variables at a time",
        where="device memory",
        hint="free arrays, or keep many small ones in one and pass pointers into it",
    )
