"""A machine file from the JSON output of mt4g, the GPU topology benchmark of caps-tum."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from placewise.errors import MachineError, reading
from placewise.machine.device_machine import machine_for
from placewise.machine.fill_gaps import with_borrowed
from placewise.machine.load import parse_machine
from placewise.space import HintSpace, hint_spaces

_GIB = 2**30 / 1e9
"""Gigabytes per GiB."""
_LEAST_CONFIDENCE = 0.5
"""Sizes that mt4g gives with less confidence are taken as unknown (0: nothing was found)."""
_KEYS = "warp{floor(address1/blockSize) != floor(address2/blockSize)}"
_DISTINCT = "warp{address1 != address2}"
_BANKS = "block{word1 != word2 && word1 % banks == word2 % banks}"

Node = Mapping[str, Any]


def read_mt4g(path: Path) -> str:
    """MSL text of the machine in ``path``.

    What mt4g does not measure and the language needs says where it was taken from. Raises
    MachineError where the file cannot be read, is not mt4g's, or lacks a figure that is needed.
    """
    hint = "give the JSON file of `mt4g --json`"
    with reading("JSON file", path, MachineError, hint=hint):
        topology = json.loads(path.read_text("utf-8"))
    with reading("topology that mt4g writes for NVIDIA's GPUs", path, MachineError, hint=hint):
        text = _text(topology)
        general = topology["general"]
        capability = general["computeCapability"]
        like = machine_for(general["name"], (int(capability["major"]), int(capability["minor"])))
        text = with_borrowed(text, like.name)
    parse_machine(text, str(path))
    return text


def _text(topology: Node) -> str:
    compute, general, memory = topology["compute"], topology["general"], topology["memory"]
    title = general["name"]
    name = re.sub(r"\W+", "", title.replace("NVIDIA", "").replace("GeForce", "")) or "Unknown"
    if name[0].isdigit():
        name = f"GPU{name}"
    capability = general["computeCapability"]
    when = topology.get("meta", {}).get("timestamp", "")[:10]
    shared = memory["shared"]
    main, l2, constant = memory["main"], memory["l2"], memory["constant"]
    l1, cl1 = memory["l1"], constant["l1"]
    dram = float(main["latency"]["mean"])
    parts = [
        f'machine {name} "{_plain(title)}";',
        f'source mt4g   "mt4g topology of an {_plain(title)}, {when}";\n'
        'source guide  "NVIDIA, CUDA C++ Programming Guide 12, Technical Specifications per '
        'Compute Capability";\n'
        'source porple "Chen et al. 2017, Optimizing Data Placement on GPU Memory";',
        f"die = {int(compute['multiProcessorCount'])} tpc; tpc = 1 sm; "
        f"sm = {int(compute['numberOfCoresPerMultiProcessor'])} core\n"
        '  from { die, sm mt4g; tpc "assumed: mt4g does not count TPCs"; };',
        _limits(compute, general, capability, shared, main),
        _memory("globalMem 8 Y RW na", _size(main["totalGlobalMem"]), _piece(l2), dram,
                "<L2 L1> <> die", _KEYS, size="total global memory",
                block="sector that L2 fetches", latency=f"mean {dram:.1f}"),
        _memory("L2 7 N RW na", _size(l2["size"]), _piece(l2), l2["latency"]["mean"],
                "<L1> <globalMem textureMem> die", _KEYS, size="",
                block="fetch granularity", latency=f"mean {l2['latency']['mean']:.1f}"),
        _memory("L1 9 N RW na", _size(l1["size"]), _size(l1["lineSize"]), l1["latency"]["mean"],
                "<> <L2 globalMem textureMem> sm", _KEYS, size="without shared memory in use",
                block="line size", latency=f"mean {l1['latency']['mean']:.1f}"),
        _memory("textureMem 5 Y R 1", "128ME", _piece(l2), dram, "<L2 L1> <> die", _KEYS,
                size=None, block="sector that L2 fetches",
                latency="the same DRAM as global memory"),
        _memory("constantMem 1 Y R na", _size(constant["totalConstMem"]), "?",
                l2["latency"]["mean"], "<cL2 cL1> <> die", _DISTINCT,
                size="total constant memory", block=None,
                latency="assumed: as L2, behind which it lies"),
        _memory("cL2 2 N R na", _size(constant["l1.5"]["size"]), _piece(constant["l1.5"]),
                constant["l1.5"]["latency"]["mean"], "<cL1> <constantMem> sm", _DISTINCT,
                size="L1.5", block="L1.5 fetch granularity",
                latency=f"L1.5, mean {constant['l1.5']['latency']['mean']:.1f}"),
        _memory("cL1 3 N R na", _size(cl1["size"]), _size(cl1["lineSize"]),
                cl1["latency"]["mean"], "<> <cL2 constantMem> sm", _DISTINCT,
                size="", block="line size", latency=f"mean {cl1['latency']['mean']:.1f}"),
        _memory("sharedMem 4 Y RW na", _size(shared["sharedMemPerBlock"]), "?",
                shared["latency"]["mean"], "<> <> sm", _BANKS, size="per block, without opt-in",
                block=None, latency=f"mean {shared['latency']['mean']:.1f}", banks=32),
        _detail("L1", l1),
        _detail("L2", l2),
        _spaces((int(capability["major"]), int(capability["minor"]))),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _limits(compute: Node, general: Node, capability: Node, shared: Node, main: Node) -> str:
    rows = [
        ("compute_capability", f"{int(capability['major'])}.{int(capability['minor'])}", "mt4g"),
        (
            "clock",
            f"{float(general['clockRate']['value']) / 1000:g} MHz",
            'mt4g "highest SM clock"',
        ),
        ("max_threads_per_block", int(compute["maxThreadsPerBlock"]), "mt4g"),
        ("max_block", "<1024 1024 64>", "guide"),
        ("max_grid", "<2147483647 65535 65535>", "guide"),
        ("max_threads_per_sm", int(compute["maxThreadsPerMultiProcessor"]), "mt4g"),
        ("max_blocks_per_sm", int(compute["maxBlocksPerMultiProcessor"]), "mt4g"),
        ("registers_per_sm", int(compute["regsPerMultiProcessor"]), "mt4g"),
        ("max_registers_per_thread", 255, "guide"),
        (
            "shared_memory_per_block",
            f"{int(shared['sharedMemPerBlock']['value'])} B",
            'mt4g "without opt-in"',
        ),
        ("shared_memory_per_sm", f"{int(shared['sharedMemPerMultiProcessor']['value'])} B", "mt4g"),
        *_dram(main),
    ]
    lines = "".join(f"  {name} = {value} from {source};\n" for name, value, source in rows)
    return f"limits {{\n{lines}}}"


def _dram(main: Node) -> list[tuple[str, str, str]]:
    """Peak and achieved bandwidth; the latter for both where the memory's clock is not given."""
    read = f"{float(main['readBandwidth']['value']) * _GIB:.5g} GB/s"
    measured = 'mt4g "measured read bandwidth"'
    try:
        hertz = 1e3 * float(main["memoryClockRate"]["value"])
        peak = 2 * hertz * float(main["memoryBusWidth"]["value"]) / 8e9
    except KeyError:
        return [("dram_bandwidth", read, measured)]
    return [
        ("dram_bandwidth", f"{peak:.5g} GB/s", 'mt4g "clock and width, two transfers a clock"'),
        ("dram_bandwidth_achieved", read, measured),
    ]


# A row of the machine file's table: one parameter for each column.
def _memory(
    start: str,
    bytes_: str,
    piece: str,
    cycles: float,
    levels: str,
    condition: str,
    *,
    size: str | None,
    block: str | None,
    latency: str,
    banks: int | None = None,
) -> str:
    entry = (
        f"{start} {bytes_} {piece} {banks or '?'} {round(float(cycles), 1):g}clk {levels} ?\n"
        f"  {condition}"
    )
    sources = [
        'size guide "1-D texture object: 2^27 elements"' if size is None else _cited("size", size)
    ]
    if block is not None:
        sources.append(_cited("blockSize", block))
    sources.append(
        f'latency "{latency}"' if latency.startswith("assumed") else _cited("latency", latency)
    )
    if banks:
        sources.append('banks guide "32 banks of 4 bytes"')
    if bytes_ == "?":
        sources = sources[1:]
    sources.append('serialCondition porple "Fig. 4, of the M2075"')
    return f"{entry}\n  from {{ {'; '.join(sources)}; }};"


def _cited(field: str, text: str) -> str:
    return f'{field} mt4g "{text}"' if text else f"{field} mt4g"


def _size(node: Node) -> str:
    """A size, or ``?`` where mt4g was not sure."""
    value = node["value"] if "value" in node else node["size"]
    if node.get("confidence", 1.0) < _LEAST_CONFIDENCE or int(value) <= 0:
        return "?"
    return f"{int(value)}B"


def _piece(level: Node) -> str:
    return _size(level["fetchGranularity"])


def _detail(name: str, level: Node) -> str:
    line, sector = _size(level["lineSize"]), _size(level["fetchGranularity"])
    rows = []
    if line != "?":
        rows.append(f"  line = {line[:-1]} B from mt4g;\n")
    if "?" not in (line, sector) and int(line[:-1]) % int(sector[:-1]) == 0:
        rows.append(f"  sector = {sector[:-1]} B from mt4g;\n")
    return f"detail {name} {{\n{''.join(rows)}}}" if rows else ""


def _plain(text: str) -> str:
    return text.replace("\\", "").replace('"', "")


def _spaces(compute_capability: tuple[int, int]) -> str:
    """Spaces of Volta and later: one unified L1, separate caches of constant memory."""
    rows = [
        "space global G direct <L1 L2 globalMem> global RW;",
        'space readonly R intrinsic <L1 L2 globalMem> global R intrinsic "__ldg";',
        *map(_hint_space, hint_spaces(compute_capability)),
        "space texture T binding <L1 L2 textureMem> global R "
        'declaration "cudaTextureObject_t" intrinsic "tex1Dfetch";',
        'space constant C host_buffer <cL1 cL2 constantMem> constant R declaration "__constant__";',
        'space shared S kernel_buffer <sharedMem> global RW declaration "__shared__";',
    ]
    return "\n".join(rows)


def _hint_space(hint: HintSpace) -> str:
    if hint.function is None:
        return f"space {hint.name} {hint.letter} window <L1 L2 globalMem> global RW;"
    levels = "L2 globalMem" if hint.name == "l2only" else "L1 L2 globalMem"
    return (
        f"space {hint.name} {hint.letter} intrinsic <{levels}> global RW "
        f'intrinsic "{hint.function}";'
    )
