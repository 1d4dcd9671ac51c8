"""Which spaces each array may live in on a machine, and why not in the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placewise.choose.capacity import (
    bytes_per_block,
    resident_by,
    rows_obstacle,
    space_in,
    way_of,
)
from placewise.executor.result import Execution
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import ArrayUse, SourceView, source_obstacle
from placewise.machine.machine import Machine, standard_memory
from placewise.memory.occupancy import Occupancy, occupancy
from placewise.space import MemorySpace, Placement, Way


@dataclass(frozen=True)
class Choice:
    """One array in one space."""

    array: str
    space: str
    reason: str | None
    """Why it is illegal; None where it is legal."""
    memory: str | None = None
    """The memory whose limited size the array would share with other arrays; None where the space
    has no such memory."""
    taken_bytes: int = 0
    """Bytes that the array would take of that memory; per block where each block has its own
    buffer."""

    @property
    def legal(self) -> bool:
        """Whether nothing rules the choice out."""
        return self.reason is None


@dataclass(frozen=True)
class Legality:
    """Every array in every space, legal or not, and the limits that several arrays share."""

    machine: Machine
    launch: Launch
    choices: tuple[Choice, ...]
    present: Placement
    """Where the source has the arrays now."""
    occupancy: Occupancy
    """Occupancy of the kernel as it is."""
    registers: int | None
    constant_in_use: int
    """Bytes of constant memory that the source declares."""
    shared_in_use: int
    """Bytes of shared memory per block that the kernel uses."""
    allow_lower_occupancy: bool
    tied: tuple[str, ...] = ()
    """Arrays that must stay where they are, since stored pointers lead to them or they hold such
    pointers."""
    chunked: tuple[Placement, ...] = ()
    """Placements in shared tiles by chunks of a loop. They move several arrays together, so they
    are no choice of one array."""
    inputs: Inputs | None = None
    """What the kernel is launched with."""
    by_hand: bool = False
    """Whether the search includes spaces that Placewise cannot write code for."""
    _by_key: dict[tuple[str, str], Choice] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self._by_key.update({(c.array, c.space): c for c in self.choices})

    @property
    def arrays(self) -> tuple[str, ...]:
        """Arrays in the order of the kernel's parameters."""
        return self.present.arrays

    @property
    def illegal(self) -> tuple[Choice, ...]:
        """Every illegal choice with its reason."""
        return tuple(c for c in self.choices if not c.legal)

    def choice(self, array: str, space: str) -> Choice:
        """One choice; raises KeyError for an unknown array or space."""
        return self._by_key[array, space]

    def spaces(self, array: str) -> tuple[str, ...]:
        """Legal spaces of ``array``, the present one first."""
        legal = [c.space for c in self.choices if c.array == array and c.legal]
        return tuple(sorted(legal, key=lambda space: space != self.present[array]))

    def searched(self, array: str, *, by_row: bool = False) -> tuple[str, ...]:
        """Legal spaces of ``array`` that the search combines: without cache hints and, unless
        ``by_row``, textures of two dimensions, which the path model cannot rank; and, unless
        ``by_hand``, without spaces that Placewise cannot write code for."""
        present = self.present[array]
        found = []
        for name in self.spaces(array):
            space = self.machine.space(name)
            left_out = space.is_cache_hint or (space.way.facts.by_row and not by_row)
            left_out = left_out or (space.way.facts.by_hand and not self.by_hand)
            if name == present or not left_out:
                found.append(name)
        return tuple(found)

    def reason(self, array: str, space: str) -> str | None:
        """Why ``array`` cannot live in ``space``, or None."""
        return self._by_key[array, space].reason

    def occupancy_of(self, placement: Placement) -> Occupancy:
        """Occupancy under ``placement``, including the shared memory of its tiles."""
        return self._occupancy_with(self._taken(placement))

    def fits(self, placement: Placement) -> str | None:
        """Why the arrays of ``placement`` do not fit together, or None. Each array is assumed to be
        legal in its space."""
        windows = [a for a, s in placement if self.machine.space(s).way.facts.host_window]
        if len(windows) > 1:
            return (
                f"a launch has one access policy window, not one for each of {', '.join(windows)}"
            )
        return self.over(self._taken(placement))

    def over(self, taken: Mapping[str, int]) -> str | None:
        """Why arrays do not fit beside what the kernel uses already, or None. ``taken`` gives the
        bytes that they take of each memory, by name; per block where each block has its own
        buffer."""
        machine = self.machine
        tiles: dict[str, int] = {}
        for memory, needed in taken.items():
            if not needed:
                continue
            used = self._in_use(memory)
            beside = f" beside {in_words(used)} in use" if used else ""
            space = space_in(machine, memory)
            if not space.way.facts.per_block:
                limit = machine.memory(memory).size_bytes
                if limit is not None and needed + used > limit:
                    beside = f", {in_words(used)} in use" if used else ""
                    held = f"it holds {in_words(limit)}"
                    return f"{in_words(needed)} of {space.name} memory{beside}; {held}"
                continue
            most = bytes_per_block(machine, memory)
            if most is not None and needed + used > most:
                has = f"a block may have {in_words(most)}"
                return f"a tile of {in_words(needed)}{beside}; {has}"
            tiles[memory] = needed
        then = self._occupancy_with(tiles) if tiles else self.occupancy
        if then.blocks < self.occupancy.blocks and not self.allow_lower_occupancy:
            memory, needed = max(tiles.items(), key=lambda item: item[1])
            used = self._in_use(memory)
            beside = f" beside {in_words(used)} in use" if used else ""
            return (
                f"a tile of {in_words(needed)}{beside} lowers occupancy from "
                f"{self.occupancy.blocks} to {then.blocks} blocks per SM"
            )
        if tiles and not then.blocks:
            return f"a tile of {in_words(max(tiles.values()))} leaves room for no block on an SM"
        return None

    def room(self, memory: str) -> int:
        """Bytes that arrays may take together of a memory, beside what is in use; for a memory of
        unknown size, more than all arrays have."""
        everything = sum(a.data.nbytes for a in self.inputs.arrays) if self.inputs else 0
        tiles = sum(c.taken_bytes for c in self.choices if c.memory == memory)
        # More bytes never raise occupancy, so the largest amount that fits is found by bisection.
        low, high = 0, max(everything, tiles) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.over({memory: middle}) else (middle, high)
        return low

    def _taken(self, placement: Placement) -> dict[str, int]:
        taken: dict[str, int] = {}
        for pair in placement:
            choice = self._by_key[pair]
            if choice.memory is not None:
                taken[choice.memory] = taken.get(choice.memory, 0) + choice.taken_bytes
        return taken

    def _in_use(self, memory: str) -> int:
        """Bytes of a memory that the kernel itself uses."""
        if memory == standard_memory(self.machine, Way.HOST_BUFFER):
            return self.constant_in_use
        if memory == standard_memory(self.machine, Way.KERNEL_BUFFER):
            return self.shared_in_use
        return 0

    def _occupancy_with(self, tiles: Mapping[str, int]) -> Occupancy:
        """Occupancy if each block has tiles of these sizes in bytes, by memory."""
        shared = standard_memory(self.machine, Way.KERNEL_BUFFER)
        found = occupancy(
            self.launch,
            self.machine,
            registers=self.registers,
            shared_bytes=self.shared_in_use + tiles.get(shared or "", 0),
        )
        for memory, needed in tiles.items():
            blocks = None
            if memory != shared and way_of(self.machine, memory).facts.per_block:
                blocks = resident_by(self.machine, memory, needed)
            if blocks is not None and blocks < found.blocks:
                found = replace(
                    found,
                    blocks=blocks,
                    warps=blocks * self.launch.warps_per_block,
                    limits=(*found.limits, (memory, blocks)),
                )
        return found


def legal_spaces(
    view: SourceView,
    machine: Machine,
    execution: Execution,
    inputs: Inputs,
    launch: Launch,
    kernel: Kernel | None = None,
    *,
    allow_lower_occupancy: bool = False,
    read_only_loads: frozenset[str] = frozenset(),
) -> Legality:
    """Legality of every array that is a pointer argument in every space of ``machine``.

    An array counts as written if the source or the run writes to it. ``read_only_loads`` names
    arrays that the compiled kernel already reads through the read-only cache (the compiler does so
    for ``const T *__restrict__``). For them this is the present space, and plain loads are illegal.
    ``kernel`` gives the registers and the static shared memory; without it only the launch's
    dynamic shared memory is known. Shared placements that lower occupancy are illegal unless
    ``allow_lower_occupancy``: PORPLE's Placer, too, "tries to ensure that the size does not lower"
    it (Chen et al. 2017, section 4).
    """
    registers = kernel.registers if kernel else None
    in_use = launch.shared_bytes + (kernel.static_shared_bytes if kernel else 0)
    now = occupancy(launch, machine, registers=registers, shared_bytes=in_use)
    uses = {use.name: use for use in view.arrays}
    arrays = tuple(a for a in inputs.arrays if a.name in uses)
    present = Placement(
        tuple((a.name, _present(uses[a.name], machine, a.name in read_only_loads)) for a in arrays)
    )
    bare = Legality(
        machine, launch, (), present, now, registers, view.constant_bytes, in_use,
        allow_lower_occupancy,
    )  # fmt: skip
    choices = []
    tied = _tied(inputs)
    for argument in arrays:
        use = uses[argument.name]
        written = use.written or argument.name in execution.written
        for space in machine.spaces:
            memory, taken = _takes(use, argument, space)
            if space.name == present[argument.name]:
                reason = None
            else:
                reason = tied.get(argument.name)
                reason = reason or _property(view, use, argument, space, machine, written=written)
                if argument.name in read_only_loads and space.way is Way.DIRECT:
                    reason = "the compiler loads it read-only already (const … __restrict__)"
                reason = reason or (bare.over({memory: taken}) if memory else None)
            choices.append(Choice(argument.name, space.name, reason, memory, taken))
    return replace(bare, choices=tuple(choices), tied=tuple(tied), inputs=inputs)


def _tied(inputs: Inputs) -> dict[str, str]:
    """Why arrays must stay where they are, by name: stored pointers lead to them, or they hold such
    pointers."""
    found: dict[str, str] = {}
    arguments = {name for name, _ in inputs.pointer_arguments}
    for holder, pointer in inputs.pointers:
        found.setdefault(holder, f"it holds pointers to '{pointer.array}'")
        reason = f"a pointer to it is stored in '{holder}'"
        if holder in arguments:
            reason = f"'{holder}' is a pointer into it, too"
        found.setdefault(pointer.array, reason)
    return found


def in_words(amount: float) -> str:
    """Bytes with a unit, three digits: 1.2 MB, 64 KB, 12 B (1 KB = 1024 B)."""
    for unit in ("B", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.3g} GB"


def _present(use: ArrayUse, machine: Machine, read_only: bool) -> str:
    """Space that the compiled kernel has the array in; the space of plain loads where the machine
    does not have that way of access."""
    direct = machine.direct_space.name
    through = [s for s in machine.spaces if s.way.facts.by_load_function]
    plain = next((s.name for s in through if s.hint is None), direct)
    if read_only:
        return plain
    if not use.present.facts.by_load_function:
        return direct
    named = next((s.name for s in through if s.intrinsic == use.load_function), None)
    return named or (plain if use.load_function in (None, "__ldg") else direct)


def _takes(use: ArrayUse, argument: ArrayArgument, space: MemorySpace) -> tuple[str | None, int]:
    """The memory whose limited size an array in ``space`` shares with others (None: no such
    memory), and the bytes that it takes of it; per block where each block has its own buffer."""
    if space.way.facts.host_filled or space.way.facts.by_hand:
        return space.levels[-1], argument.data.nbytes
    if space.way.facts.per_block and use.tile is not None:
        return space.levels[-1], use.tile.bytes(use.parameter.element_bytes)
    return None, 0


def dimensions_of(use: ArrayUse, argument: ArrayArgument) -> frozenset[int]:
    """Numbers of dimensions that an array can be seen with: one, as every pointer, and those of the
    host's array or of the rows and columns that the source indexes it by."""
    by_rows = {2} if use.tile is not None and use.tile.pitch > 0 else set()
    return frozenset({1, max(1, argument.data.ndim)} | by_rows)


def _property(
    view: SourceView,
    use: ArrayUse,
    argument: ArrayArgument,
    space: MemorySpace,
    machine: Machine,
    *,
    written: bool,
) -> str | None:
    """Why the array or its use rules the space out, apart from limits that arrays share; None where
    nothing does."""
    home = machine.levels(space.name)[-1]
    if written and not (space.writable and home.writable):
        lines = [a.line for a in use.accesses if a.kind != "load"]
        place = f" (line {lines[0]})" if lines else ""
        return f"the kernel writes to it{place}; the memory is read-only"
    if use.read and not home.readable:
        return "the kernel reads it; the memory is write-only"
    dimensions = dimensions_of(use, argument)
    if home.dim is not None and home.dim not in dimensions:
        has = "one" if dimensions == {1} else " or ".join(str(d) for d in sorted(dimensions))
        return f"{space.name} memory is for arrays of {home.dim} dimensions; this one has {has}"
    obstacle = source_obstacle(view, use.name, space.way, writable=space.writable)
    if obstacle:
        return obstacle
    beyond = rows_obstacle(use, machine) if space.way.facts.by_row else None
    if beyond:
        return beyond
    elements = argument.data.nbytes // max(1, use.parameter.element_bytes)
    if home.size_elements is not None and elements > home.size_elements:
        return f"{elements} elements; {space.name} memory holds {home.size_elements}"
    size = home.size_bytes
    limited_apart = space.way.has_own_memory
    if size is not None and not limited_apart and argument.data.nbytes > size:
        return f"{in_words(argument.data.nbytes)}; {space.name} memory holds {in_words(size)}"
    return None
