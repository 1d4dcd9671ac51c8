"""Run one kernel launch on memory of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.check.checked import Check
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.device_memory.fill import fill
from placewise.executor.result import Execution
from placewise.executor.runtime.run import DEFAULT_LIMIT, TRACE_SPACES, Progress
from placewise.executor.trace import CompiledConsumer, TraceConsumer
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch


# Public and keyword-only: one parameter for each option of a launch.
def execute(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
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
    with_buffers: bool = False,
) -> Execution:
    """Execute ``kernel`` and return its outputs and counts.

    ``consumer`` receives the accesses of the blocks marked in ``trace_blocks`` ((blocks,) by linear
    number, x fastest; all if None) to the spaces in ``trace_spaces``, in the caller's thread.
    ``run_blocks`` lists the only blocks to run (all if None). ``progress`` is called with blocks
    finished and blocks in all. ``threads`` is the number of cores to use (all if None); kernels
    whose result could depend on the order of blocks, through floating-point or value-returning
    global atomics, always run on one, in ascending order of blocks. ``check`` is a
    :class:`placewise.executor.check.Checker`, for a run on one core that looks for mistakes and
    goes on after an access out of bounds; what it finds is never raised. ``count_by_block`` adds
    :attr:`Execution.block_work`, ``with_buffers`` adds the buffers of ``inputs`` that the launch
    writes to the outputs.

    Raises CaseError where inputs or launch do not fit the kernel, UnsupportedError for an
    instruction that is not covered (before anything runs), and ExecutionError where the kernel
    goes out of bounds, misaligns an access, traps or does not end.
    """
    memory = DeviceMemory()
    arguments = fill(memory, kernel, inputs)
    result = memory.launch(
        kernel,
        launch,
        arguments,
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
    if not with_buffers:
        return result
    content = {region.name: region.data for region in memory.regions()}
    buffers = (
        (b.name, content[b.name].view(b.data.dtype).reshape(b.data.shape))
        for b in inputs.buffers
        if b.name in result.written
    )
    return replace(result, outputs=(*result.outputs, *buffers))
