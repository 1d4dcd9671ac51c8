"""Profiles from index patterns, without a run (Chen et al. 2017, section 3.1.1: "from affine
reference patterns").

Where indices and branches follow from thread and block numbers, loop counters and scalar arguments,
so does every access. The instructions that they follow from are computed for all threads of the
sampled blocks; no array is read, and none of the kernel's other arithmetic is done. What comes out
is the trace of a run, access for access. Indices need not be affine: remainders and shifts are
patterns, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.executor.slice_interpreter import SlicedTrace, slice_launch
from placewise.executor.slice_interpreter.data_dependence import require_known_indices
from placewise.executor.slice_interpreter.trace_chunk import chunk_of
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.memory.reuse.profile import Profiler

_WARPS, _ACCESSES = 4096, 250_000
"""Warps, and accesses of warps, that are worked out together at most (some 300 bytes an access)."""
_LONGEST = 1 << 34
"""Nodes that may be computed: no limit. Loops of known length end."""


def take_index_patterns(kernel: Kernel, launch: Launch, inputs: Inputs, profiler: Profiler) -> None:
    """Give ``profiler`` the accesses of the blocks that it samples.

    Raises UnsupportedError, with the line and the reason, where an index or a branch depends on an
    array's contents, and for what :func:`~placewise.executor.slice_interpreter.slice_launch` does
    not cover; CaseError if inputs or launch do not fit the kernel.
    """
    require_known_indices(kernel, inputs)

    def traced(blocks: NDArray[np.int64]) -> SlicedTrace:
        return slice_launch(kernel, launch, inputs, blocks, guards=False, work=_LONGEST, whole=True)

    first = traced(np.flatnonzero(profiler.trace_blocks)[:1])
    each = max(1, int(first.site_executions.sum()))
    profiler.expect(each)
    profiler.begin(first.sites, first.device.arrays)
    together = max(1, min(_WARPS // launch.warps_per_block, _ACCESSES // each))
    wanted = np.flatnonzero(profiler.trace_blocks)
    for start in range(0, len(wanted), together):
        some = wanted[start : start + together]
        some = some[profiler.trace_blocks[some]]  # fewer may be wanted by now
        if len(some):
            profiler.chunk(chunk_of(traced(some)))
