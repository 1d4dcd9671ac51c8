"""Executes a launch, traces its memory accesses, and simulates the memory system with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from placewise.errors import UnsupportedError
from placewise.executor import DEFAULT_LIMIT, execute
from placewise.executor.device_memory.fill import constant_notes
from placewise.executor.result import Execution
from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED, machine_code
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy, fitting_occupancy
from placewise.memory.simulate.caches.hierarchy import unknown_caches
from placewise.memory.simulate.caches.instruction_cache import code_traffic, exceeds_cache
from placewise.memory.simulate.dram.distances import burst_distances
from placewise.memory.simulate.metrics.traffic import Traffic
from placewise.memory.simulate.requests.bursts import first_of_bursts
from placewise.memory.simulate.requests.far_shared import with_far_stores
from placewise.memory.simulate.requests.filtered_reads import filtered_axes
from placewise.memory.simulate.schedule.block_divergence import block_divergence
from placewise.memory.simulate.schedule.concurrent_loads import loading_blocks
from placewise.memory.simulate.system import RECORDS, LaunchFacts, MemorySystem
from placewise.short_repr import ShortRepr

SPACES = frozenset({"global", "shared", "local", "constant", "texture", "generic"})


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedLaunch(ShortRepr):
    """What was executed and counted in a launch on a simulated machine."""

    kernel: Kernel
    launch: Launch
    machine: Machine
    occupancy: Occupancy
    traffic: Traffic
    execution: Execution
    notes: tuple[str, ...]

    def _in_short(self) -> str:
        return f"{self.kernel.name} on {self.machine.name}"

    @property
    def from_machine_code(self) -> bool:
        """Whether the machine code was executed; if not, the PTX was."""
        return self.kernel.machine_code


# Each option is a separate keyword, because callers set few of them; the body sets up one run.
def simulate_launch(
    kernel: Kernel,
    launch: Launch,
    inputs: Inputs,
    machine: Machine,
    *,
    placement: Mapping[str, str] | None = None,
    records: int = RECORDS,
    slices: bool = False,
    arrived: int = 0,
    instruction_limit: int | None = DEFAULT_LIMIT,
    progress: Callable[[int, int], None] | None = None,
) -> SimulatedLaunch:
    """Execute ``kernel`` (its machine code if possible, else its PTX) and simulate the memory of
    ``machine``.

    About ``records`` warp accesses are traced; of larger launches only some waves are traced. With
    ``slices``, the traffic of L2 is also counted for each slice, if the machine's file describes
    the slices. The numbers of the first ``arrived`` lines requested from L2 are kept. ``progress``
    is called with the number of finished blocks and of all blocks. Raises CaseError if not even one
    block fits an SM, and the errors of :func:`placewise.executor.execute`.
    """
    facts = read_cubin(kernel.cubin, kernel.entry) if kernel.cubin is not None else None
    static = facts.static_shared_bytes if facts else kernel.static_shared_bytes
    shared = static + launch.shared_bytes
    resident = fitting_occupancy(launch, machine, registers=kernel.registers, shared_bytes=shared)
    local = facts.frame_bytes + (facts.stack_bytes or 0) if facts else 0
    sizes = inputs.array_bytes
    filtered = filtered_axes(inputs)
    launch_facts = LaunchFacts(launch, resident, shared, local, sizes, filtered=filtered)
    notes = [
        f"the size of {name} is not known: nothing is found there"
        for name in unknown_caches(machine)
    ]
    notes += constant_notes(kernel, inputs)

    def once(chosen: Kernel) -> SimulatedLaunch:
        of_code = launch_facts
        if chosen.machine_code:
            code = machine_code(chosen).instructions
            passes = launch.blocks / (machine.processor.sms * resident.blocks)
            loading = loading_blocks(code, resident.blocks, passes)
            of_code = replace(of_code, bursts=first_of_bursts(code), concurrent_blocks=loading)
        system = MemorySystem(
            of_code,
            machine,
            placement=placement,
            records=records,
            slices=slices,
            arrived=arrived,
        )
        # A single worker, because it delivers blocks in ascending order; the memory system uses the
        # other core.
        execution = execute(
            chosen,
            launch,
            inputs,
            consumer=system,
            trace_blocks=system.trace_blocks,
            trace_spaces=SPACES,
            instruction_limit=instruction_limit,
            progress=progress,
            threads=1,
        )
        traffic = system.traffic(
            execution.site_executions, partial(burst_distances, chosen, execution)
        )
        traffic = with_far_stores(traffic, machine, resident, shared, launch.blocks)
        run = SimulatedLaunch(chosen, launch, machine, resident, traffic, execution, tuple(notes))
        return _with_code_traffic(run, inputs) if chosen.machine_code else run

    if facts is None or facts.target < OLDEST_DISASSEMBLED:
        notes.append("no machine code that can be executed: counts are those of the PTX")
        return once(kernel)
    try:
        return once(replace(kernel, machine_code=True))
    except UnsupportedError as error:
        notes.append(f"counts are those of the PTX, not of the machine code: {error.as_reason}")
        return once(kernel)


def _with_code_traffic(run: SimulatedLaunch, inputs: Inputs) -> SimulatedLaunch:
    """The launch, with the traffic of the machine code that the SMs read through L2."""
    traffic = run.traffic
    moved = sum(s.dram_sectors.value for s in traffic.sites)
    moved += traffic.dram_sectors_written().value
    # How blocks differ only matters if the code does not fit the caches and is fetched again and
    # again.
    again = exceeds_cache(run.execution, run.machine)
    fetched = code_traffic(
        run.execution,
        run.launch,
        run.occupancy,
        run.machine,
        traffic.sector_bytes,
        shared_wavefronts=traffic.shared_wavefronts,
        dram_sectors=moved,
        divergence=block_divergence(run.kernel, run.launch, inputs) if again else 0.0,
    )
    return replace(run, traffic=replace(traffic, instructions=fetched))
