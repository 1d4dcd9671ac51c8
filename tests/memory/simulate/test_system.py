"""The memory system against one of plain Python objects, on random traces."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine import parse_machine
from placewise.memory import occupancy
from placewise.memory.simulate.schedule.block_to_sm import block_slots
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

MACHINE = """
machine Tiny;
die = 2 tpc; tpc = 1 sm; sm = 32 core;
limits { compute_capability = 7.5; max_threads_per_sm = 128; max_blocks_per_sm = 2; }
globalMem 1 Y RW na 1GB 32B ? 400clk <L2 L1> <> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
L2 2 N RW na 4KB 32B ? 200clk <L1> <globalMem> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
L1 3 N RW na 1KB 128B ? 30clk <> <L2 globalMem> sm ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
sharedMem 4 Y RW na 48KB ? 32 20clk <> <> sm ?
  block{word1 != word2 && word1 % banks == word2 % banks};
tlb T1 { entries = 3; ways = <2 1>; page = 256 B; scope = sm; before = L2; policy = lru; }
tlb T2 { entries = 4; ways = 4; page = 1024 B; scope = die; before = L2; policy = fifo; }
dram {
  channels = 2; banks = 2; columns = <5 6 7>; rows = <9 10 11 12 13>;
  bank = <8 11>; channel = <6 10>;
}
detail L1 { line = 128 B; sector = 32 B; ways = 2; policy = lru; }
detail L2 { line = 128 B; sector = 32 B; ways = 4; policy = lru; }
space global G direct <L1 L2 globalMem> global RW;
space shared S kernel_buffer <sharedMem> global RW;
"""
SITES = (
    Site("ld.global.f32", "global", "load", 4, 1, 1),
    Site("ld.global.v4.f32", "global", "load", 16, 2, 2),
    Site("st.global.f32", "global", "store", 4, 3, 3),
    Site("ld.shared.f32", "shared", "load", 4, 4, 4),
)
SEED = 5
BYTES = 8192
WARPS = 2


class Sectored:
    """A sectored LRU cache as ordered dictionaries."""

    def __init__(self, sets, ways):
        self.sets = [OrderedDict() for _ in range(sets)]
        self.ways = ways

    def access(self, line, sectors, *, write=False):
        """(missing sectors, dirty sectors lost)"""
        row = self.sets[line % len(self.sets)]
        lost = 0
        self.victim = None
        if line not in row:
            if len(row) == self.ways:
                victim, (_, dirty) = row.popitem(last=False)
                lost = len(dirty)
                self.victim = victim, dirty
            row[line] = (set(), set())
        row.move_to_end(line)
        valid, dirty = row[line]
        missing = sectors - valid
        valid |= sectors
        if write:
            dirty |= sectors
        return missing, lost


class Translation:
    """T1 of each SM, and T2."""

    def __init__(self):
        self.first = [[OrderedDict(), OrderedDict()] for _ in range(2)]
        self.last = []
        self.counts = np.zeros((2, 2), int)  # by level: asked, hit
        self.lines = []

    def ask(self, sm, address):
        self.lines.append(address // 128)
        page = address // 256
        ways = self.first[sm][page % 2]
        self.counts[0] += 1, page in ways
        if page in ways:
            ways.move_to_end(page)
            return
        if len(ways) == (2, 1)[page % 2]:
            ways.popitem(last=False)
        ways[page] = True
        page = address // 1024
        self.counts[1] += 1, page in self.last
        if page not in self.last:
            self.last = [*self.last[-3:], page]


class Rows:
    """The rows that four banks have open."""

    def __init__(self):
        self.open, self.last = {}, {}
        self.counts = np.zeros((6, 4))

    def ask(self, line, sectors, now):
        asked = []
        for sector in sorted(sectors):
            address = 128 * line + 32 * sector
            bit = [address >> n & 1 for n in range(14)]
            bank = bit[8] ^ bit[11] | (bit[6] ^ bit[10]) << 1
            row = address >> 9 & 31
            if asked[-1:] != [(bank, row)]:
                asked.append((bank, row))
        for bank, row in asked:
            before = self.open.get(bank)
            kind = 2 if before is None else 1 if before == row else 3
            gap = now - self.last.get(bank, now)
            self.counts[:, bank] += [1, kind == 1, kind == 2, kind == 3, gap, gap**2]
            self.open[bank], self.last[bank] = row, now


def reference(accesses, blocks, resident, first_line):
    """(sectors, lines, L1 hits, L2 hits, DRAM sectors) per site, written back, TLB and bank counts,
    rounds, the lines that leave the SMs in their order."""
    counts = np.zeros((len(SITES), 5), int)
    written = 0
    l1 = [Sectored(4, 2) for _ in range(2)]
    l2 = [Sectored(4, 4), Sectored(4, 4)]  # sets by parity of the line
    translation, rows, turn = Translation(), Rows(), 0
    for wave in range(-(-blocks // (2 * resident))):
        queues, place = {}, block_slots(wave, 2, resident, SEED)
        for site, block, warp, phase, lanes in accesses:
            if block // (2 * resident) == wave:
                slot = place[block % (2 * resident)]
                queues.setdefault((slot // resident, slot, warp), []).append((phase, site, lanes))
        while queues:
            requests = []
            for sm in range(2):
                mine = {k: q for k, q in sorted(queues.items()) if k[0] == sm}
                earliest = {}
                for (_, block, _), queue in mine.items():
                    earliest[block] = min(earliest.get(block, 99), queue[0][0])
                for key, queue in mine.items():
                    if queue[0][0] > earliest[key[1]]:
                        continue
                    _, site, lanes = queue.pop(0)
                    parts = {}
                    for address in lanes:
                        for byte in range(0, SITES[site].lane_bytes, 4):
                            line, rest = divmod(address + byte, 128)
                            parts.setdefault(first_line + line, set()).add(rest // 32)
                    counts[site, 0] += sum(len(s) for s in parts.values())
                    counts[site, 1] += len(parts)
                    for line, sectors in parts.items():
                        missing = sectors
                        if SITES[site].kind == "load":
                            missing, _ = l1[sm].access(line, sectors)
                            counts[site, 2] += len(sectors) - len(missing)
                        if missing:
                            requests.append((sm, site, line, missing))
            for sm, _, line, _ in sorted(requests, key=lambda r: (r[0], r[2] % 2)):
                translation.ask(sm, 128 * line)
            leaving = [[], []]
            for _, site, line, sectors in requests:
                write = SITES[site].kind == "store"
                half = l2[line % 2]
                missing, lost = half.access(line // 2, sectors, write=write)
                written += lost
                if not write:
                    counts[site, 3] += len(sectors) - len(missing)
                    counts[site, 4] += len(missing)
                    leaving[line % 2].append((line, missing))
                if half.victim:
                    leaving[line % 2].append((2 * half.victim[0] + line % 2, half.victim[1]))
            for line, sectors in leaving[0] + leaving[1]:
                rows.ask(line, sectors, turn)
            turn += 1
            queues = {k: q for k, q in queues.items() if q}
    return counts, written, translation.counts, rows.counts, turn, translation.lines


lanes = st.one_of(
    st.tuples(st.integers(0, 255), st.sampled_from([0, 4, 8, 64]), st.integers(-300, 300)),
    st.lists(st.integers(0, BYTES // 16 - 1), min_size=32, max_size=32),
)
trace = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, WARPS - 1), st.integers(0, 2), lanes,
        st.integers(1, (1 << 32) - 1),
    ),
    min_size=1, max_size=25,
)  # fmt: skip


def offsets_of(shape, width):
    if isinstance(shape, list):
        return np.array(shape, np.int64) * 16, None
    start, stride, jump = shape
    stride = max(stride, width) if stride else 0
    base = start * 16 + 2048
    upper = base + 16 * stride + jump * 16
    upper = int(np.clip(upper, 0, BYTES - 16 * max(stride, 1) - 16))
    lane = np.arange(32)
    return np.where(lane < 16, base + stride * lane, upper + stride * (lane - 16)), (
        base, upper, stride,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(trace, min_size=1, max_size=7))
def test_random_traces(blocks):
    accesses, columns, rows = [], [], []
    for block, records in enumerate(blocks):
        for warp in range(WARPS):
            for phase in range(3):
                for site, w, p, shape, mask in records:
                    if (w, p) != (warp, phase):
                        continue
                    offsets, line = offsets_of(shape, SITES[site].lane_bytes)
                    active = [int(offsets[n]) for n in range(32) if mask >> n & 1]
                    array = -1 if SITES[site].space == "shared" else 0
                    base, upper, stride = line or (0, 0, 0)
                    row = -1 if line else len(rows)
                    if not line:
                        rows += active
                    columns.append(
                        (site, block, warp, phase, mask, array, base, upper, stride, row)
                    )
                    if array == 0:
                        accesses.append((site, block, warp, phase, active))
    # A block without accesses is one that was not traced.
    assume(len({c[1] for c in columns}) == len(blocks))
    types = (np.int32,) * 4 + (np.uint32, np.int32, np.int64, np.int64, np.int32, np.int32)
    chunk = TraceChunk(
        *(np.array(c, t) for c, t in zip(zip(*columns, strict=True), types, strict=True)),
        np.array(rows, np.int32),
    )
    machine = parse_machine(MACHINE, "tiny.msl")
    launch = Launch((len(blocks), 1, 1), (32 * WARPS, 1, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    assert resident.blocks == 2
    facts = LaunchFacts(launch, resident, 0, 0, (("a", BYTES),))
    system = MemorySystem(facts, machine, seed=SEED, arrived=500)
    system.begin(SITES, ("a",))
    system.chunk(chunk)
    traffic = system.traffic()
    first_line = int(system.array_lines[1])
    counts, written, translated, banks, turns, lines = reference(
        accesses, len(blocks), 2, first_line
    )
    measured = np.array(
        [
            [t.sectors, t.lines, t.l1_hits.value, t.l2_hits.value, t.dram_sectors.value]
            for t in traffic.sites
        ]
    )
    np.testing.assert_array_equal(measured, counts)
    assert traffic.dram_sectors_written() == (written, 0)
    np.testing.assert_array_equal([(t.requests, t.hits) for t in traffic.tlbs], translated)
    assert traffic.arrived.tolist() == lines[:500]
    b = traffic.banks
    found = [b.requests, b.hits, b.misses, b.conflicts, b.gap_sum, b.gap_squares]
    np.testing.assert_array_equal(found, banks)
    assert b.duration == turns
    stored = [c for c in columns if c[0] == 3]
    assert traffic.sites[3].requests == len(stored)


def test_blocks_go_to_sms_in_turn_at_first_and_anywhere_later():
    first = block_slots(0, 3, 2, SEED)
    assert (first // 2).tolist() == [0, 1, 2, 0, 1, 2]
    assert sorted(first) == list(range(6))
    # Of a later wave's blocks, as many as on average meet the block before on their SM.
    met = 0
    for wave in range(1, 201):
        later = block_slots(wave, 20, 5, SEED)
        assert sorted(later) == list(range(100))
        met += np.count_nonzero(np.diff(later // 5) == 0)
    assert met / (200 * 99) == pytest.approx(4 / 99, rel=0.1)


def affine_accesses(count, **columns):
    """The same access of 32 lanes by one warp, several times."""
    columns |= {"block": 0, "warp": 0, "phase": 0, "mask": 0xFFFFFFFF, "row": -1}
    columns["upper"] = columns["base"] + 16 * columns["stride"]
    types = dict.fromkeys(("site", "block", "warp", "phase", "array", "stride", "row"), np.int32)
    types |= {"mask": np.uint32, "base": np.int64, "upper": np.int64}
    return TraceChunk(
        **{k: np.array([v] * count, types[k]) for k, v in columns.items()},
        offsets=np.zeros(0, np.int32),
    )


@pytest.mark.parametrize(
    ("stride", "wavefronts"), [(4, 1), (8, 2), (16, 4), (128, 32), (132, 1), (0, 1)]
)
def test_bank_conflicts_by_stride(stride, wavefronts):
    machine = parse_machine(MACHINE, "tiny.msl")
    launch = Launch((1, 1, 1), (32, 1, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    system = MemorySystem(LaunchFacts(launch, resident, 0, 0, ()), machine)
    system.begin(SITES, ())
    chunk = affine_accesses(3, site=3, array=-1, base=64, stride=stride)
    system.chunk(chunk)
    assert system.traffic().sites[3].wavefronts == 3 * wavefronts


def test_a_cache_without_sectors_fetches_whole_lines():
    """One sector of each of 32 lines is asked for: L2 is asked for all four, and so is DRAM."""
    text = MACHINE.replace("line = 128 B; sector = 32 B; ways = 2", "line = 128 B; ways = 2")
    machine = parse_machine(text, "tiny.msl")
    launch = Launch((1, 1, 1), (32, 1, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    system = MemorySystem(LaunchFacts(launch, resident, 0, 0, (("a", BYTES),)), machine)
    system.begin(SITES, ("a",))
    system.chunk(affine_accesses(1, site=0, array=0, base=0, stride=128))
    (load, *_) = system.traffic().sites
    assert (load.sectors, load.lines, load.l1_hits.value) == (32, 32, 0)
    assert (load.l2_sectors.value, load.l2_hits.value, load.dram_sectors.value) == (128, 0, 128)
