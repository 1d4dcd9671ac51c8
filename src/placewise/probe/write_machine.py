"""The machine file of what a probe found, each figure with how it was found and how surely."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from placewise.errors import MachineError
from placewise.machine.load import parse_machine
from placewise.machine.machine import Machine, Memory
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.printer import print_specification
from placewise.machine.msl.tree import (
    DetailEntry,
    Header,
    Latency,
    Level,
    LimitEntry,
    LimitsEntry,
    MemoryEntry,
    ProcessorEntry,
    Provenance,
    Reference,
    Size,
    SourceEntry,
    SpaceEntry,
    Special,
    Specification,
)
from placewise.probe.infer.banks import BankStructure, infer_banks
from placewise.probe.infer.structure import NOT_LOOKED_AT, Structure
from placewise.probe.session import Findings
from placewise.probe.write_parts import assumed_settings, quantity, setting, written_parts
from placewise.space import LOAD_FUNCTIONS, Hint, HintSpace, Priority, hint_spaces

_CONDITIONS = parse_specification(
    """die = 1 tpc; tpc = 1 sm; sm = 1 core;
    blocks 1 Y R na ? 1B ? ? <> <> die ?
      warp{floor(address1/blockSize) != floor(address2/blockSize)};
    distinct 2 Y R na ? ? ? ? <> <> die ? warp{address1 != address2};
    banks 3 Y R na ? ? 1 ? <> <> sm ? block{word1 != word2 && word1 % banks == word2 % banks};"""
).memories
_BLOCKS, _DISTINCT, _BANKS = (memory.condition for memory in _CONDITIONS)
"""Chen et al. 2017, Fig. 4; constant memory as the CUDA C++ Programming Guide has it."""
_WARP_LANES = 32
_L1_AND_L2 = 2
_GENERATION = Reference(None, "assumed: of all GPUs since Volta")


def machine_text(found: Findings, like: Machine, date: str) -> str:
    """MSL text. ``like`` is a known machine that is near in compute capability: what a probe cannot
    see, or did not find, is taken from it, and says so.

    Raises MachineError where no cache of global memory was found.
    """
    writer = _Writer(found, like)
    if not writer.caches:
        raise MachineError(
            "no cache of global memory was found, so there is no machine to describe",
            where=found.facts.name,
            hint="probe the part 'global'",
        )
    text = print_specification(writer.specification(date))
    parse_machine(text, f"{writer.name}.msl")
    return text


class _Writer:
    def __init__(self, found: Findings, like: Machine) -> None:
        self.found = found
        self.like = like
        self.facts = found.facts
        short = self.facts.name.replace("NVIDIA", "").replace("GeForce", "")
        self.name = re.sub(r"\W+", "", short) or "Unknown"
        if not self.name[0].isalpha():
            self.name = f"GPU{self.name}"
        self.path = found.paths.get("global")
        self.caches = self.path.caches if self.path else ()
        self.has_l1 = len(self.caches) > 1
        self.l2 = self.caches[1 if self.has_l1 else 0] if self.caches else None
        self.banks = _banks(found)

    def specification(self, date: str) -> Specification:
        spaces = self._spaces()
        return Specification(
            header=Header(self.name, _plain(self.facts.name)),
            sources=(
                SourceEntry("probe", f"placewise probe of {_plain(self.facts.name)}, {date}"),
                SourceEntry("driver", "CUDA driver, device attributes"),
                SourceEntry("like", f"assumed: as of the {self.like.name}"),
            ),
            processor=self._processor(),
            limits=LimitsEntry(tuple(self._limits())),
            memories=tuple(self._memories()),
            details=tuple(self._details()),
            parts=written_parts(self.found, self.like, "L2"),
            spaces=spaces,
        )

    def _processor(self) -> ProcessorEntry:
        of_sm = Reference("like", None)
        cores = self.like.processor.cores_per_sm
        for times in self.found.instructions:
            if times.opcode == "FFMA":
                cores = max(1, round(times.lanes_per_cycle / _WARP_LANES)) * _WARP_LANES
                of_sm = Reference("probe", f"FFMA: {times.lanes_per_cycle:.1f} lanes a cycle")
        return ProcessorEntry(
            self.facts.sms,
            1,
            cores,
            (
                Provenance(("die",), Reference("driver", None)),
                Provenance(("tpc",), Reference(None, "assumed: drivers do not count TPCs")),
                Provenance(("sm",), of_sm),
            ),
        )

    def _limits(self) -> Iterable[LimitEntry]:
        facts, driver = self.facts, Reference("driver", None)
        major, minor = facts.compute_capability
        yield setting("compute_capability", Decimal(f"{major}.{minor}"), None, driver)
        yield quantity("clock", facts.clock_mhz, "MHz", driver)
        yield setting("max_threads_per_block", facts.max_threads_per_block, None, driver)
        yield setting("max_block", facts.max_block, None, driver)
        yield setting("max_grid", facts.max_grid, None, driver)
        yield setting("max_threads_per_sm", facts.max_threads_per_sm, None, driver)
        yield setting("max_blocks_per_sm", facts.max_blocks_per_sm, None, driver)
        yield setting("registers_per_sm", facts.registers_per_sm, None, driver)
        yield setting(
            "max_registers_per_thread",
            self.like.limits.max_registers_per_thread,
            None,
            Reference("like", None),
        )
        yield setting("shared_memory_per_block", facts.shared_bytes_per_block, "B", driver)
        yield setting("shared_memory_per_sm", facts.shared_bytes_per_sm, "B", driver)
        yield quantity("dram_bandwidth", facts.dram_gb_per_s, "GB/s", driver)
        copied = self.like.limits
        yield quantity(
            "copy_bandwidth", copied.copy_bandwidth_gb_per_s, "GB/s", Reference("like", None)
        )
        achieved = self._streamed("DRAM")
        if achieved is not None:
            most = Reference("probe", "the most of all occupancies")
            yield quantity("dram_bandwidth_achieved", achieved, "GB/s", most)
        for name in ("schedulers_per_sm", "issues_per_scheduler"):
            value = getattr(copied, name)
            if value is not None:
                yield setting(name, value, None, Reference("like", None))
        fetched = copied.instruction_buffer_bytes, copied.instruction_bytes_per_cycle
        if fetched[0] is not None:
            yield setting("instruction_buffer", fetched[0], "B", Reference("like", None))
        yield quantity("instruction_bandwidth", fetched[1], "B/clk", Reference("like", None))
        if self.found.launch_ns is not None:
            empty = Reference("probe", "an empty kernel, between events")
            yield quantity("launch_overhead", self.found.launch_ns, "ns", empty)

    def _memories(self) -> Iterable[MemoryEntry]:
        assert self.path is not None, "checked before writing"
        assert self.l2 is not None, "checked before writing"
        home = self.path.memory_cycles
        above = ("L2", "L1") if self.has_l1 else ("L2",)
        l2 = self.l2
        sector = l2.sector_bytes or _of(self.like, "L2").block_bytes or 32
        fetched = (
            Reference("probe", "what a miss of L2 fetches")
            if l2.sector_bytes
            else Reference("like", None)
        )
        missed = Reference("probe", "loads that miss every cache")
        yield self._memory(
            "globalMem", 8, "RW", self.facts.memory_bytes, sector, home, above, (), "die",
            size=Reference("driver", None), block=fetched, latency=missed,
        )  # fmt: skip
        size_note = "" if l2.capacity_bytes is None else f"the probe found {l2.capacity_bytes} B"
        yield self._memory(
            "L2", 7, "RW", self.facts.l2_bytes, sector, l2.latency_cycles, above[1:],
            ("globalMem", "textureMem"), "die",
            size=Reference("driver", size_note or None), block=fetched, latency=_how(l2),
        )  # fmt: skip
        if self.has_l1:
            l1, known = self.caches[0], _of(self.like, "L1")
            least = "with shared memory's least share of the array"
            yield self._memory(
                "L1", 9, "RW", l1.capacity_bytes or known.size_bytes,
                l1.line_bytes or known.block_bytes, l1.latency_cycles, (),
                ("L2", "globalMem", "textureMem"), "sm",
                size=_how(l1, least) if l1.capacity_bytes else Reference("like", None),
                block=_how(l1) if l1.line_bytes else Reference("like", None), latency=_how(l1),
            )  # fmt: skip
        texels = 1 << 27
        yield self._memory(
            "textureMem", 5, "R", texels, sector, home, above, (), "die", dim=1, unit="E",
            size=Reference(None, "CUDA C++ Programming Guide, 1-D texture of linear memory"),
            block=fetched, latency=missed,
        )  # fmt: skip
        yield from self._constant(l2.latency_cycles)
        yield self._shared()

    def _constant(self, l2_cycles: float) -> Iterable[MemoryEntry]:
        path = self.found.paths.get("constant")
        caches: tuple[Structure | None, ...] = path.caches[:2] if path else ()
        names = ("cL1", "cL2")[: max(len(caches), 1)] if path else ("cL1", "cL2")
        below = self._or_like(None, "constantMem")
        last = path.memory_cycles if path else l2_cycles
        yield self._memory(
            "constantMem", 1, "R", self.facts.constant_bytes, None, last, names[::-1], (), "die",
            condition=_DISTINCT, size=Reference("driver", None),
            latency=Reference("probe", "loads that miss the constant caches") if path else below,
        )  # fmt: skip
        for number, name in reversed(tuple(enumerate(names))):
            cache = caches[number] if number < len(caches) else None
            known = _of(self.like, name)
            yield self._memory(
                name, (3, 2)[number], "R",
                cache.capacity_bytes if cache else known.size_bytes,
                (cache.line_bytes if cache else None) or known.block_bytes,
                cache.latency_cycles if cache else known.latency_cycles,
                names[:number][::-1], (*names[number + 1 :], "constantMem"), "sm",
                condition=_DISTINCT,
                size=self._or_like(cache, name),
                block=self._or_like(cache if cache and cache.line_bytes else None, name),
                latency=self._or_like(cache, name),
            )  # fmt: skip

    def _shared(self) -> MemoryEntry:
        known = _of(self.like, "sharedMem")
        banks, of_banks = known.banks, Reference("like", None)
        if self.banks is not None:
            banks = self.banks.banks
            of_banks = Reference("probe", "strided accesses")
        cycles = self.found.shared_cycles
        return self._memory(
            "sharedMem", 4, "RW", self.facts.shared_bytes_per_block, None,
            cycles if cycles is not None else known.latency_cycles, (), (), "sm",
            condition=_BANKS, banks=banks, size=Reference("driver", "per block, with opt-in"),
            of_banks=of_banks,
            latency=Reference("probe" if cycles is not None else "like", None),
        )  # fmt: skip

    def _or_like(self, cache: Structure | None, name: str) -> Reference:
        if cache is not None:
            return _how(cache)
        return Reference("like", f"{name} was not probed")

    # One parameter for each column of the memory table of an MSL file.
    def _memory(
        self,
        name: str,
        id_: int,
        rw: str,
        size_: int | None,
        block_: int | None,
        cycles: float,
        upper: tuple[str, ...],
        lower: tuple[str, ...],
        scope: str,
        *,
        size: Reference,
        latency: Reference,
        block: Reference | None = None,
        of_banks: Reference | None = None,
        condition: object = _BLOCKS,
        banks: int | None = None,
        dim: int | None = None,
        unit: str = "B",
    ) -> MemoryEntry:
        sources = [Provenance(("latency",), latency), Provenance(("serialCondition",), _GENERATION)]
        if size_ is not None:
            sources.append(Provenance(("size",), size))
        if block_ is not None and block is not None:
            sources.append(Provenance(("blockSize",), block))
        if banks is not None and of_banks is not None:
            sources.append(Provenance(("banks",), of_banks))
        return MemoryEntry(
            name=name,
            id=id_,
            managed="N" if lower else "Y",
            rw=rw,
            dim=dim if dim is not None else Special.NOT_APPLICABLE,
            size=_size(size_, unit),
            block_size=_size(block_, "B"),
            banks=banks if banks is not None else Special.UNKNOWN,
            latency=(Latency(Decimal(f"{cycles:.1f}"), "clk"),),
            upper=tuple(Level(n) for n in upper),
            lower=tuple(Level(n) for n in lower),
            scope=scope,
            concurrency=Special.UNKNOWN,
            condition=condition,  # type: ignore[arg-type]
            provenance=tuple(sources),
        )

    def _details(self) -> Iterable[DetailEntry]:
        assert self.l2 is not None, "checked before writing"
        nearest = {"L1": self.caches[0]} if self.has_l1 else {}
        for name, cache in {**nearest, "L2": self.l2}.items():
            rows = list(self._cache_settings(name, cache))
            if name == "L2" and len(self.caches) > _L1_AND_L2:
                far = Reference("probe", "a further level, taken for the other partition")
                rows.append(quantity("far_latency", self.caches[-1].latency_cycles, "clk", far))
            if rows:
                yield DetailEntry(name, tuple(rows))
        path = self.found.paths.get("constant")
        for name, cache in zip(("cL1", "cL2"), path.caches if path else (), strict=False):
            rows = [row for row in self._structure(cache) if row.name != "sector"]
            if rows:
                yield DetailEntry(name, tuple(rows))
        if self.banks is not None and self.banks.conflict_cycles > 0:
            slope = Reference("probe", "latency over the stride")
            added = quantity("conflict", self.banks.conflict_cycles, "clk", slope)
            yield DetailEntry("sharedMem", (added,))

    def _cache_settings(self, name: str, cache: Structure) -> Iterable[LimitEntry]:
        found = tuple(self._structure(cache))
        yield from found
        yield from assumed_settings(_of(self.like, name).detail, found)
        moved = self._streamed(name)
        if moved is not None and self.facts.clock_mhz:
            instances = self.facts.sms if name == "L1" else 1
            cycle = moved * 1e3 / self.facts.clock_mhz / instances
            yield quantity("bandwidth", cycle, "B/clk", Reference("probe", "of all occupancies"))

    def _structure(self, cache: Structure) -> Iterable[LimitEntry]:
        how = _how(cache)
        if cache.line_bytes:
            yield setting("line", cache.line_bytes, "B", how)
            if cache.sector_bytes and cache.line_bytes // cache.sector_bytes in (1, 2, 4, 8, 16):
                yield setting("sector", cache.sector_bytes, "B", how)
        if cache.doubts or len(set(cache.ways)) != 1:
            return
        yield setting("ways", cache.ways[0], None, how)
        if cache.policy:
            yield setting("policy", cache.policy, None, how)
        if cache.policy == "weighted":
            shares = tuple(round(1000 * share) for share in cache.way_probabilities)
            yield setting("way_probabilities", shares, None, how)
        if cache.index in ("modulo", "hashed"):
            yield setting("index", cache.index, None, how)

    def _streamed(self, level: str) -> float | None:
        return max((s.gb_per_s for s in self.found.streams if s.level == level), default=None)

    def _hint_space(self, hint: HintSpace, through: tuple[Level, ...]) -> SpaceEntry:
        function = LOAD_FUNCTIONS.get(hint.function or "")
        past_l1 = function is not None and function.hint == Hint(Priority.PAST_L1)
        levels = (Level("L2"),) if past_l1 else through
        return SpaceEntry(
            hint.name, hint.letter, "intrinsic" if hint.function else "window",
            (*levels, Level("globalMem")), "global", "RW", intrinsic=hint.function,
        )  # fmt: skip

    def _spaces(self) -> tuple[SpaceEntry, ...]:
        """As since Volta: one unified L1; constant memory apart."""
        through = tuple(Level(n) for n in (("L1", "L2") if self.has_l1 else ("L2",)))
        path = self.found.paths.get("constant")
        count = max(len(path.caches[:2]), 1) if path else 2
        constant = tuple(Level(n) for n in ("cL1", "cL2")[:count])
        home, texture = Level("globalMem"), Level("textureMem")
        return (
            SpaceEntry("global", "G", "direct", (*through, home), "global", "RW"),
            SpaceEntry(
                "readonly", "R", "intrinsic", (*through, home), "global", "R", intrinsic="__ldg"
            ),
            *(self._hint_space(h, through) for h in hint_spaces(self.facts.compute_capability)),
            SpaceEntry(
                "texture", "T", "binding", (*through, texture), "global", "R",
                "cudaTextureObject_t", "tex1Dfetch",
            ),
            SpaceEntry(
                "constant", "C", "host_buffer", (*constant, Level("constantMem")), "constant", "R",
                "__constant__",
            ),
            SpaceEntry(
                "shared", "S", "kernel_buffer", (Level("sharedMem"),), "global", "RW", "__shared__"
            ),
        )  # fmt: skip


def _banks(found: Findings) -> BankStructure | None:
    """None where they were not looked at, or do not look like banks."""
    try:
        return infer_banks(found.banks) if found.banks else None
    except MachineError:
        return None


def _how(cache: Structure, note: str = "") -> Reference:
    """Source of a cache's figures, with what speaks against them."""
    texts = [note] if note else []
    if NOT_LOOKED_AT in cache.doubts:
        return Reference("probe", ", ".join(texts) or None)
    texts.append(f"confidence {cache.confidence}")
    if cache.doubts:
        texts.append("; ".join(cache.doubts))
    return Reference("probe", ", ".join(texts))


def _of(machine: Machine, name: str) -> Memory:
    return machine.memory(name)


def _size(amount: int | None, unit: str) -> tuple[Size, ...] | Special:
    return Special.UNKNOWN if amount is None else (Size(amount, "", unit),)


def _plain(text: str) -> str:
    return text.replace("\\", "").replace('"', "")
