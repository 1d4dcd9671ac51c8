"""Run one kernel launch on the CPU."""

from __future__ import annotations

import contextlib
import os
import queue
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.check.checked import Check, LaunchCheck, Scene
from placewise.executor.device_memory.address_space import Slot
from placewise.executor.device_memory.device import Device, IdleKey
from placewise.executor.passes.uniform import WarpShape
from placewise.executor.result import Execution
from placewise.executor.runtime.counts import execution_of
from placewise.executor.runtime.faults import execution_error
from placewise.executor.runtime.launch_shape import (
    Blocks,
    block_list,
    bunches,
    check_shape,
    numbers_of,
)
from placewise.executor.runtime.threads import start
from placewise.executor.runtime.trace_buffers import HandOver, ToCompiled, ToPython, TraceBuffer
from placewise.executor.runtime.worker import Worker, thread_coordinates
from placewise.executor.trace import CompiledConsumer, TraceConsumer
from placewise.executor.translate import (
    Translation,
    blocks_may_run_together,
    lowered,
    parsed,
    translate,
)
from placewise.interrupts import interrupts_told
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import MOST_LISTED, Launch, too_many_blocks

TRACE_SPACES = frozenset({"global", "shared", "local", "constant", "texture", "generic"})
"""All spaces whose accesses can be traced."""

DEFAULT_LIMIT = 1 << 26
"""Instructions of one warp, counted at loop heads, after which a kernel is taken to be endless:
some seconds of one core and, where accesses are traced, up to 3 GB of memory; far beyond what a
warp of a real kernel executes."""

CHECKED_LIMIT = 1 << 24
"""Instructions of one warp after which a kernel under the checker is taken to be endless: the
checker looks at every access, which takes some twenty times as long."""

KEPT_WORKERS = 16
"""Most kinds of launches (kernel, shape, limit) whose workers a memory keeps for later launches;
the workers of one take some 200 KB."""

_LOOK = 0.02
"""Seconds between two checks whether optimised code is ready."""
_PATIENCE = 1e-3
"""Seconds for which one worker runs alone, because waking the others takes longer than a small
launch."""

Progress = Callable[[int, int], None]


# Keyword-only: the options of a launch as DeviceMemory.launch has them.
def run_on(
    device: Device,
    kernel: Kernel,
    launch: Launch,
    outputs: tuple[tuple[str, NDArray[np.generic]], ...],
    *,
    consumer: TraceConsumer | CompiledConsumer | None,
    trace_blocks: NDArray[np.bool_] | None,
    trace_spaces: frozenset[str],
    run_blocks: NDArray[np.integer[Any]] | None,
    instruction_limit: int | None,
    progress: Progress | None,
    threads: int | None,
    check: Check | None,
    count_by_block: bool,
) -> Execution:
    """Run a launch on ``device``; ``outputs`` are views of it that go into the result.

    Options and errors are those of :func:`placewise.executor.execute`.
    """
    start = time.perf_counter()
    module = parsed(kernel)
    program = lowered(kernel, device.first_window)
    check_shape(
        launch,
        module.functions[kernel.entry].max_threads,
        program.shared_bytes,
        program.local_bytes,
    )
    blocks = block_list(launch, run_blocks)
    traced = _traced_flags(launch, consumer, trace_blocks)
    wanted = trace_spaces & TRACE_SPACES if consumer is not None else frozenset()
    together = check is None and blocks_may_run_together(program)
    workers_wanted = max(1, threads or len(os.sched_getaffinity(0))) if together else 1
    workers_wanted = min(workers_wanted, max(1, len(blocks) // 2))

    sites = check.sites(program, device) if check is not None else None

    def version(spaces: frozenset[str]) -> Translation:
        return translate(
            kernel,
            device.first_window,
            WarpShape.of(launch.block),
            spaces,
            workers_wanted > 1,
            device.large,
            tuple(sorted(device.textures.items())),
            sites,
        )

    translation = version(wanted)
    every = not wanted or bool(_flags_of(traced, blocks).all())
    untraced = translation if every else version(frozenset())
    if isinstance(consumer, CompiledConsumer):
        consumer.begin_taking(translation.sites, device.arrays, device.array_of_window)
    elif consumer is not None:
        consumer.begin(translation.sites, device.arrays)
    runner = _Runner(
        translation,
        untraced,
        device,
        launch,
        traced,
        instruction_limit or 1 << 62,
        consumer,
        progress,
    )
    if check is not None:
        scene = Scene(kernel, launch, translation, device, dict(outputs))
        runner.check = check.begin(scene)
    if wanted and every:
        runner.untraced_version = partial(version, frozenset())
    if count_by_block and not translation.gives_way:
        if launch.blocks > MOST_LISTED:
            raise too_many_blocks(launch)
        runner.block_work = np.zeros(launch.blocks, np.int64)
    runner.run(blocks, workers_wanted)
    for worker in runner.workers if check is None else ():
        if worker.fault is not None:
            raise execution_error(worker.fault, kernel, launch, module, translation, device)
    seconds = time.perf_counter() - start
    return execution_of(runner.workers, translation, device, outputs, seconds, runner.block_work)


def _flags_of(traced: NDArray[np.uint8], blocks: Blocks) -> NDArray[np.uint8]:
    return traced[: len(blocks)] if isinstance(blocks, range) else traced[blocks]


def _traced_flags(
    launch: Launch,
    consumer: TraceConsumer | CompiledConsumer | None,
    trace_blocks: NDArray[np.bool_] | None,
) -> NDArray[np.uint8]:
    if consumer is None:
        return np.zeros(1, np.uint8)
    if launch.blocks > MOST_LISTED:
        raise too_many_blocks(launch)
    if trace_blocks is None:
        return np.ones(launch.blocks, np.uint8)
    if trace_blocks.shape != (launch.blocks,):
        raise CaseError(
            f"trace_blocks has shape {trace_blocks.shape}, the launch has {launch.blocks} blocks",
            where="trace_blocks",
        )
    # A view where possible: a consumer may clear flags of blocks while the launch runs.
    return np.ascontiguousarray(trace_blocks, bool).view(np.uint8)


class _Runner:
    """Workers in threads of their own; the caller's thread takes their trace and reports."""

    def __init__(
        self,
        translation: Translation,
        untraced: Translation,
        device: Device,
        launch: Launch,
        traced: NDArray[np.uint8],
        limit: int,
        consumer: TraceConsumer | CompiledConsumer | None,
        progress: Progress | None,
    ) -> None:
        self.translation = translation
        self.untraced = untraced
        self.device = device
        self.launch = launch
        self.traced = traced
        self.limit = limit
        self.consumer = consumer
        self.progress = progress
        self.workers: list[Worker] = []
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.plain: queue.SimpleQueue[Blocks] = queue.SimpleQueue()
        self.windows = device.array_of_window
        self.total = 0
        self.running = 0
        self._looked = 0.0
        self.untraced_version: Callable[[], Translation] | None = None
        """Makes code for blocks that are not traced; None where no block needs it, or it is
        made."""
        self.check: LaunchCheck | None = None
        self.block_work = np.zeros(0, np.int64)
        """(blocks,) where workers count the work of each block; empty: not wanted."""

    def run(self, blocks: Blocks, count: int) -> None:
        """Run all blocks; raises what a consumer or the keyboard raises, workers stopped."""
        self.total = len(blocks)
        own, shared = blocks, blocks[:0]
        if count > 1:
            if self.consumer is not None and not self._all_deliver:
                marked = _flags_of(self.traced, blocks) != 0
                own, shared = numbers_of(blocks)[marked], numbers_of(blocks)[~marked]
            else:
                own, shared = shared, own
            for bunch in bunches(shared, count):
                self.plain.put(bunch)
        self.workers = [self._worker(0)]
        self._set_code()
        self._looked = time.perf_counter()
        if self.check is not None:
            self.check.attach(self.workers[0].ctx)
        with interrupts_told(self.messages.put):
            self._run_workers(own, count)
        self._improve()
        if self.check is not None:
            worker = self.workers[0]
            self.check.end(worker.fault, finished=not worker.stopped)
        reusable = self.consumer is None and not self.translation.gives_way
        if reusable and not any(w.fault for w in self.workers):
            self._keep_workers()

    def _run_workers(self, own: Blocks, count: int) -> None:
        self.running = 1
        start(partial(self._work, self.workers[0], self._first_bunches(own, count)))
        try:
            self._serve(count)
        except BaseException:
            for worker in self.workers:
                worker.stop()
                # A worker that waits for a buffer must wake up to see that it is to end.
                if worker.hand_over is not None:
                    worker.hand_over.wake()
            while self.running:
                self.running -= self.messages.get() is None
            if self.check is not None:
                self.check.end(None, finished=False)
            raise

    def _first_bunches(self, blocks: Blocks, count: int) -> list[Blocks]:
        """Blocks that may wait for each other are run together."""
        if not self.translation.gives_way:
            return bunches(blocks, count)
        if len(blocks) > MOST_LISTED:
            raise too_many_blocks(self.launch)
        return [blocks]

    @property
    def _key(self) -> IdleKey:
        return self.translation, self.launch.block, self.launch.shared_bytes, self.limit

    def _keep_workers(self) -> None:
        idle = self.device.idle
        idle.setdefault(self._key, []).extend(self.workers)
        while len(idle) > KEPT_WORKERS:
            del idle[next(iter(idle))]

    def _worker(self, number: int) -> Worker:
        worker = self._idle_or_new(number)
        worker.set(Slot.BLOCK_WORK, self.block_work.ctypes.data if self.block_work.size else 0)
        return worker

    def _idle_or_new(self, number: int) -> Worker:
        if self.consumer is None:
            kept = self.device.idle.get(self._key)
            if kept:
                worker = kept.pop()
                worker.again(self.device, self.launch)
                return worker
        delivers = self.consumer is not None and (number == 0 or self._all_deliver)
        return Worker(
            self.translation,
            self.device,
            self.launch,
            thread_coordinates(self.launch),
            self.traced,
            self.limit,
            partial(self._hand_over, number) if delivers else None,
        )

    @property
    def _all_deliver(self) -> bool:
        return isinstance(self.consumer, CompiledConsumer) and self.consumer.parallel

    def _hand_over(self, number: int, ctx: NDArray[np.int64]) -> HandOver:
        consumer, large = self.consumer, self.device.large
        if not isinstance(consumer, CompiledConsumer):
            return ToPython(ctx, lambda *filled: self.messages.put(filled), large=large)

        def refused() -> None:
            try:
                consumer.refused(number)
            except BaseException as error:
                ctx[Slot.STOP] = 1
                self.messages.put(error)

        return ToCompiled(ctx, consumer.taker(number), refused, large=large)

    def _work(self, worker: Worker, bunches: list[Blocks]) -> None:
        try:
            for bunch in bunches:
                if not self._one(worker, bunch):
                    return
            worker.finish_trace()
            with contextlib.suppress(queue.Empty):
                while self._one(worker, self.plain.get_nowait()):
                    pass
            worker.finish_trace()
        except BaseException as error:
            self.messages.put(error)
        finally:
            self.messages.put(None)

    def _one(self, worker: Worker, bunch: Blocks) -> bool:
        done = worker.run(numbers_of(bunch))
        if self.progress is not None:
            self.messages.put(done)
        if done < len(bunch):
            for other in self.workers:
                other.stop()
            return False
        return True

    def _improve(self) -> None:
        """Let workers use optimised code as soon as it is ready."""
        now = time.perf_counter()
        seconds, self._looked = now - self._looked, now
        for version in {self.translation, self.untraced}:
            if version.compiled.improve(seconds):
                self._set_code()

    def _narrow(self) -> None:
        """Have blocks that a consumer no longer wants run untraced code."""
        if self.untraced_version is not None and not self.traced.all():
            self.untraced = self.untraced_version()
            self.untraced_version = None
            self._set_code()

    def _set_code(self) -> None:
        for worker in self.workers:
            worker.set(Slot.WARP_TRACED, self.translation.compiled.warp)
            worker.set(Slot.WARP_CODE, self.untraced.compiled.warp)

    def _help(self, count: int) -> None:
        """Start the other workers."""
        for number in range(1, count):
            worker = self._worker(number)
            self.workers.append(worker)
            self._set_code()
            # If the first worker has failed meanwhile, it may not have stopped this one.
            if self.workers[0].stopped:
                worker.stop()
            self.running += 1
            start(partial(self._work, worker, []))

    def _serve(self, count: int) -> None:
        finished = 0
        begun = time.perf_counter()
        while self.running:
            alone = len(self.workers) < count
            try:
                message = self.messages.get(timeout=_PATIENCE if alone else _LOOK)
            except queue.Empty:
                if alone:
                    self._help(count)
                else:
                    self._improve()
                continue
            if alone and message is not None and time.perf_counter() - begun > _PATIENCE:
                self._help(count)
            if time.perf_counter() - self._looked > _LOOK:
                self._improve()
            if message is None:
                self.running -= 1
            elif isinstance(message, int):
                finished += message
                if self.progress is not None:
                    self.progress(finished, self.total)
            elif isinstance(message, BaseException):
                raise message
            else:
                self._consume(*message)

    def _consume(self, buffer: TraceBuffer, sizes: tuple[int, int, int]) -> None:
        hand_over = self.workers[0].hand_over
        assert isinstance(hand_over, ToPython)
        assert self.consumer is not None
        assert not isinstance(self.consumer, CompiledConsumer)
        self.consumer.chunk(buffer.chunk(sizes, self.windows))
        hand_over.take_back(buffer)
        self._narrow()
