"""The whole placement-agnostic form: the user's source with all versions in it, a header for the
host, and the cases that prove each version and each setting of the fine-grained kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument
from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.rewriter.agnostic.buffers import Buffers, buffers_of, constant_room
from placewise.rewriter.agnostic.coarse import CoarseVersion, coarse_version
from placewise.rewriter.agnostic.fine_grained import FineGrained, fine_grained
from placewise.rewriter.agnostic.host_header import host_header
from placewise.rewriter.agnostic.kernel_text import unique_functions
from placewise.rewriter.agnostic.names import AgnosticNames, agnostic_names
from placewise.rewriter.draft import require_cuda
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.text import with_line_ends_of
from placewise.space import MemorySpace, Placement, Way


@dataclass(frozen=True)
class WantedVersion:
    """A placement that gets a kernel of its own (a coarse-grained version)."""

    placement: Placement
    machine: Machine
    """The machine whose memory spaces the placement names."""
    best_on: tuple[str, ...] = ()
    """Machines that it is the best form for."""
    capabilities: tuple[int, ...] = ()
    """Compute capabilities of these machines, such as 86 for 8.6."""


@dataclass(frozen=True, eq=False)
class AgnosticForm:
    """A kernel whose placement the host program chooses while it runs."""

    case: Case
    """The original case, with arguments named after the kernel's parameters."""
    source: str
    """The user's source, with the versions and the fine-grained kernel after the original
    kernel."""
    header: str
    """Text of the header with the host code, which the source includes."""
    header_name: str
    names: AgnosticNames
    versions: tuple[CoarseVersion, ...]
    any: FineGrained
    constant_bytes: int
    """Bytes of the constant buffer that all versions share; 0 where none uses it."""

    def setting_spaces(self) -> dict[str, tuple[str, ...]]:
        """Names of the spaces in which the fine-grained kernel may have each array, the present one
        first."""
        return {a.use.name: tuple(s.name for s in a.spaces) for a in self.any.arrays}

    def buffers(self, setting: Placement) -> Buffers:
        """Offsets of the arrays in the buffers of the fine-grained kernel under ``setting``."""
        return buffers_of(self.any, setting, self.case.launch.shared_bytes)

    def version(self, which: CoarseVersion) -> Rewritten:
        """A coarse-grained version with the case's inputs."""
        constants = []
        if which.members:
            data = np.zeros(self.constant_bytes, np.uint8)
            data[: which.constant_bytes] = which.constant_data
            constants.append((self.names.constants, data))
        return self._rewritten(
            which.placement, which.kernel, which.arguments, constants, which.draft.shared_bytes
        )

    def at(self, setting: Placement) -> Rewritten:
        """The fine-grained kernel with the case's inputs and its arrays placed by ``setting``."""
        buffers = self.buffers(setting)
        order = list(dict.fromkeys(s.name for a in self.any.arrays for s in a.spaces))
        memory_of = [order.index(setting[a.use.name]) for a in self.any.arrays]
        constants: list[tuple[str, np.ndarray]] = [
            (self.names.memory_of, np.array(memory_of, np.int32)),
        ]
        if self.any.uses_offsets:
            offsets = [buffers.offsets.get(a.use.name, 0) for a in self.any.arrays]
            constants.append((self.names.offset_of, np.array(offsets, np.uint32)))
        if self.constant_bytes and self.any.uses_constants:
            data = np.zeros(self.constant_bytes, np.uint8)
            for one in self.any.arrays:
                space = one.space(Way.HOST_BUFFER)
                if space is not None and setting[one.use.name] == space.name:
                    held = np.ascontiguousarray(self.any.draft.data_of(one.use)).reshape(-1)
                    start = buffers.offsets[one.use.name]
                    data[start : start + held.nbytes] = held.view(np.uint8)
            constants.append((self.names.constants, data))
        return self._rewritten(
            setting, self.any.kernel, self.any.arguments, constants, buffers.shared_bytes
        )

    def _rewritten(
        self, placement: Placement, kernel: str, arguments: tuple[Argument, ...],
        constants: list[tuple[str, np.ndarray]], shared_bytes: int,
    ) -> Rewritten:  # fmt: skip
        case = self.case
        inputs = replace(
            case.inputs, arguments=arguments, constants=(*case.inputs.constants, *constants)
        )
        made = replace(
            case,
            source=self.source,
            kernel=kernel + self.names.arguments,
            launch=replace(case.launch, shared_bytes=shared_bytes),
            inputs=inputs,
        )
        return Rewritten(placement=placement, case=made, host=self.header, edits=())


def write_agnostic(
    case: Case,
    view: SourceView,
    machine: Machine,
    spaces: Mapping[str, Sequence[MemorySpace]],
    wanted: Sequence[WantedVersion],
) -> AgnosticForm:
    """Write the kernel of ``case`` for ``machine`` with a version for each of ``wanted``, and a
    fine-grained kernel that can have each array in any of its ``spaces`` (by array, the present one
    first).

    Raises UnsupportedError, located in the source, where it cannot be made.
    """
    _check(case, view)
    case = bind_names(case, view)
    names = agnostic_names(case)
    versions = tuple(
        coarse_version(number, case, view, one.machine, one.placement, names, one.best_on)
        for number, one in enumerate(wanted, start=1)
    )
    offered = {array: tuple(chosen) for array, chosen in spaces.items()}
    kernel = fine_grained(case, view, offered, names)
    room = constant_room(machine, view, len(kernel.arrays))
    size = max((v.constant_bytes for v in versions), default=0)
    size = max(size, min(room, _constant_total(kernel)))
    if size > room:
        raise UnsupportedError(
            f"a version needs {size} bytes of constant memory, and {room} are left beside the "
            "words that hold the arrays' memories",
            where=case.filename,
        )
    header_name = f"{names.prefix}_placements.h"
    block = _block(case, names, versions, kernel, size, header_name)
    source = case.source.encode()
    text = (source[: view.body_end] + block.encode() + source[view.body_end :]).decode()
    return AgnosticForm(
        case=case,
        source=with_line_ends_of(case.source, text),
        header=host_header(case, view, names, versions, tuple(wanted), kernel, size),
        header_name=header_name,
        names=names,
        versions=versions,
        any=kernel,
        constant_bytes=size,
    )


def _check(case: Case, view: SourceView) -> None:
    require_cuda(case)
    line = case.source.encode()[: view.signature_start].count(b"\n") + 1
    where = f"{case.filename}:{line}"
    if view.in_namespace:
        raise UnsupportedError(
            f"kernel '{case.kernel}' is in a namespace, so its host code cannot stand after it",
            where=where,
            hint="rewrite one placement with --place",
        )
    for parameter in view.parameters:
        if "(" in parameter.type_text or "&" in parameter.type_text:
            raise UnsupportedError(
                f"parameter '{parameter.name}' is of type {parameter.type_text}, which the host "
                "code cannot keep in a struct",
                where=where,
            )


def _constant_total(kernel: FineGrained) -> int:
    everything = Placement(
        tuple(
            (a.use.name, space.name)
            for a in kernel.arrays
            if (space := a.space(Way.HOST_BUFFER)) is not None
        )
    )
    return buffers_of(kernel, everything, 0).constant_bytes


def _block(
    case: Case, names: AgnosticNames, versions: tuple[CoarseVersion, ...], kernel: FineGrained,
    constant_bytes: int, header_name: str,
) -> str:  # fmt: skip
    """The text that is inserted after the kernel: declarations, all kernels, and the header."""
    spaces = dict.fromkeys(s.name for a in kernel.arrays for s in a.spaces)
    # Templates and overloads may not stand in a block of C linkage.
    in_c = 'extern "C" {' in " ".join(case.source.split())
    lines = [
        "",
        "",
        f"// Placements of {names.kernel}, made by Placewise: one kernel for each of a few "
        "placements,",
        f"// and {names.any_kernel}, in which every access asks where its array is.",
        *(['extern "C++" {'] if in_c else []),
        f"enum {names.memory_type} {{ {', '.join(names.space(s) for s in spaces)} }};",
        f"enum {{ {', '.join(names.array(a.use.name) for a in kernel.arrays)} }};",
        f"__constant__ int {names.memory_of}[{len(kernel.arrays)}];  // where each array is",
    ]
    if kernel.uses_offsets:
        lines.append(
            f"__constant__ unsigned int {names.offset_of}[{len(kernel.arrays)}];  // and from "
            "which byte of its buffer on"
        )
    if constant_bytes:
        structs = [f"    {v.struct}" for v in versions if v.struct]
        lines += [
            "__constant__ union {",
            *structs,
            f"    alignas(16) unsigned char any[{constant_bytes}];",
            f"}} {names.constants};",
        ]
    lines += unique_functions([*(v.draft for v in versions), kernel.draft])
    for version in versions:
        best = f", best on {', '.join(version.machines)}" if version.machines else ""
        lines += [
            "",
            f"// Version {version.number}{best}:",
            *(f"//   {note}" for note in version.draft.notes),
            *version.text.split("\n"),
        ]
    lines += ["", "// Every array where the host says:", *kernel.text.split("\n")]
    lines += [
        "#ifndef __CUDACC_RTC__",
        f'#include "{header_name}"',
        "#endif",
        *(["}"] if in_c else []),
    ]
    return "\n".join(lines)
