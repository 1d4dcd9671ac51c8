"""Whether a kernel's paths and addresses follow from thread numbers and arguments alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.device_memory.fill import fill
from placewise.executor.ir.nodes import Access, Node, Program, Reg
from placewise.executor.slice_interpreter.backward_slice import (
    MEMORY,
    BackwardSlice,
    guard_of,
)
from placewise.executor.texture.texture_sites import texture_reads, words_of
from placewise.executor.translate import lower, parsed, sites_of
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs

_FORWARDED = frozenset({"shared", "local"})
"""Spaces that hold only what the kernel stored there: their stores decide."""
_GIVEN = frozenset({"param", "constant"})
"""Spaces whose contents are known before a launch and the same for all threads."""


@dataclass(frozen=True)
class DataDependence:
    """Something loaded decides what a kernel does."""

    load: Access
    """The load, atomic or texture read."""
    use: Access | None
    """The access whose address, or whether it happens, depends on it; None: a branch does."""


def data_dependence(program: Program, words: tuple[int, ...] = ()) -> DataDependence | None:
    """The first access or branch of ``program`` that depends on an array's contents, or None.

    ``words`` are those of a texel for each memory instruction that reads a texture.
    """
    sliced = BackwardSlice(program, words or (0,) * len(program.accesses), guards=False)
    if not any(map(_is_data, sliced.contents)):
        return None
    search = _Search(program, sliced)
    for block in program.blocks:
        for n in block.nodes:
            if n.op in MEMORY:
                guard = guard_of(n)
                found = search.load([sliced.address(n), *([] if guard is None else [guard])])
                if found is not None:
                    return DataDependence(found, n.access)
    for block in program.blocks:
        found = search.load(block.steering())
        if found is not None:
            return DataDependence(found, None)
    return None


def require_known_indices(kernel: Kernel, inputs: Inputs) -> None:
    """Raise UnsupportedError, located at the source line, where an address or a branch of the
    kernel depends on what is loaded from an array."""
    memory = DeviceMemory()
    device = memory.prepare(kernel, fill(memory, kernel, inputs, borrow=True))
    program = lower(kernel, device.first_window)
    reads = texture_reads(program, dict(device.textures))
    found = data_dependence(program, words_of(program, reads))
    if found is None:
        return
    sites = sites_of(program, parsed(kernel), reads)

    def line(access: Access) -> str:
        site = sites[access.site]
        return f"line {site.source_line or site.ptx_line}"

    at = sites[(found.use or found.load).site]
    what = "a branch depends" if found.use is None else f"the index in {line(found.use)} depends"
    raise UnsupportedError(
        f"{what} on what {line(found.load)} loads: no pattern of thread and loop numbers",
        where=f"{at.source_file or kernel.filename}:{at.source_line or at.ptx_line}",
        hint="trace a run instead: --profile full or active",
    )


def _is_data(n: Node) -> bool:
    """Whether a memory node's value comes from an array."""
    if n.op == "store" or n.op not in MEMORY:
        return False
    return n.access.space not in _FORWARDED | _GIVEN


class _Search:
    """Looks for the load that a value depends on."""

    def __init__(self, program: Program, sliced: BackwardSlice) -> None:
        self._sliced = sliced
        self._writers: dict[Reg, list[Node]] = {}
        self._stores: dict[str, list[Node]] = {}
        for block in program.blocks:
            for n in block.nodes:
                if n.op == "set":
                    self._writers.setdefault(n.reg, []).append(n)
                elif n.op in ("store", "atomic"):
                    self._stores.setdefault(n.access.space, []).append(n)

    def load(self, roots: Iterable[Node]) -> Access | None:
        """The first load of an array that one of ``roots`` depends on."""
        work, seen = list(roots), set[Node]()
        while work:
            n = work.pop()
            if n in seen:
                continue
            seen.add(n)
            if _is_data(n):
                return n.access
            work += self._operands(n)
        return None

    def _operands(self, n: Node) -> Iterator[Node]:
        if n.op == "get":
            yield from self._writers.get(n.reg, [])
        elif n.op in MEMORY:
            yield self._sliced.address(n)
            yield from n.args[1:]
            if n.op != "store":
                yield from self._stores.get(n.access.space, [])
        else:
            yield from n.args
