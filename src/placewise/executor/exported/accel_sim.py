"""SASS traces as Accel-Sim reads them (M. Khairy, Z. Shen, T. Aamodt and T. Rogers, "Accel-Sim: An
Extensible Simulation Framework for Validated GPU Modeling", ISCA 2020; trace version 3).

A folder with ``kernelslist.g``, the commands, and ``kernel-1.traceg``: lines of ``-key = value``
for the launch, then of each block its warps, and a line for each instruction: address, lanes,
number of destination registers and these, opcode, number of source registers and these, bytes per
lane of an access (0 for none), and its addresses as a list (0) or as first address and step (1).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from placewise.errors import PlacewiseError
from placewise.executor.exported.warp_trace import BlockTrace, Executed, Touched
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.instruction import Instruction, Memory, Register
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Dim3, Launch

VERSION = 3
SHARED_BASE, LOCAL_BASE = 0x7F0000000000, 0x7F0100000000
"""Generic addresses at which the trace places shared and local memory; no array lies there."""
_ZERO = 255
"""Number of the register that is always zero."""
_MOST_SOURCES = 4
"""Most source registers of an instruction that readers of the format accept."""
_LIST, _STEP = 0, 1


def write_accel_sim(
    folder: Path,
    kernel: Kernel,
    launch: Launch,
    arrays: Iterable[tuple[int, int]],
    traces: Iterable[BlockTrace],
) -> tuple[Path, ...]:
    """Write the trace of a launch into ``folder``, which is made where it is missing.

    ``arrays`` are (device address, bytes), copied to the device before the launch. Where ``traces``
    are not all blocks of the launch, the trace is that of a grid of as many blocks in a row.
    Returns the files. Raises PlacewiseError where they cannot be written.
    """
    code = {i.offset: _head(i) for i in machine_code(kernel).instructions}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".placewise-") as staging:
            body, whole = Path(staging) / "body", Path(staging) / "kernel-1.traceg"
            count = 0
            with body.open("w", encoding="ascii") as file:
                for trace in traces:
                    file.writelines(_block(trace, launch.grid, code))
                    count += 1
            grid = launch.grid if count == launch.blocks else (count, 1, 1)
            with whole.open("w", encoding="ascii", errors="replace") as file:
                file.writelines(_header(kernel, launch, grid))
                with body.open(encoding="ascii") as read:
                    for line in read:
                        file.write(line)
            commands = Path(staging) / "kernelslist.g"
            copies = [f"MemcpyHtoD,0x{at:016x},{size}\n" for at, size in arrays]
            commands.write_text("".join([*copies, "kernel-1.traceg\n"]), encoding="ascii")
            return tuple(made.replace(folder / made.name) for made in (commands, whole))
    except OSError as error:
        raise PlacewiseError(
            f"cannot be written: {error.strerror or error}", where=str(folder)
        ) from error


def _header(kernel: Kernel, launch: Launch, grid: Dim3) -> Iterator[str]:
    block = launch.block
    shared = kernel.static_shared_bytes + launch.shared_bytes
    values = (
        ("kernel name", kernel.entry),
        ("kernel id", 1),
        ("grid dim", "({},{},{})".format(*grid)),
        ("block dim", "({},{},{})".format(*block)),
        ("shmem", shared),
        ("nregs", kernel.registers or 0),
        ("binary version", kernel.arch.removeprefix("sm_").rstrip("af")),
        ("cuda stream id", 0),
        ("shmem base_addr", f"0x{SHARED_BASE:016x}"),
        ("local mem base_addr", f"0x{LOCAL_BASE:016x}"),
        ("nvbit version", "none, made by Placewise"),
        ("accelsim tracer version", VERSION),
    )
    for key, value in values:
        yield f"-{key} = {value}\n"
    yield (
        "\n#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width "
        "[adrrescompress?] [mem_addresses]\n"
    )


def _block(trace: BlockTrace, grid: Dim3, code: dict[int, str]) -> Iterator[str]:
    x, rest = trace.number % grid[0], trace.number // grid[0]
    yield f"\n#BEGIN_TB\n\nthread block = {x},{rest % grid[1]},{rest // grid[1]}\n"
    for number, warp in enumerate(trace.warps):
        yield f"\nwarp = {number}\ninsts = {len(warp)}\n"
        for executed in warp:
            yield _line(executed, code)
    yield "\n#END_TB\n"


def _line(executed: Executed, code: dict[int, str]) -> str:
    touched = executed.touched
    where = "0" if touched is None else f"{touched.lane_bytes} {_addresses(touched)}"
    return f"{executed.offset:04x} {executed.lanes:08x} {code[executed.offset]} {where}\n"


def _addresses(touched: Touched) -> str:
    """Addresses of the active lanes: a first one and a step where the lanes lie side by side and
    their addresses in equal steps, else all."""
    found = touched.addresses + (LOCAL_BASE if touched.space == "local" else 0)
    step = _step(found)
    bits = touched.lanes >> (touched.lanes & -touched.lanes).bit_length() - 1
    if step is not None and bits & (bits + 1) == 0:
        return f"{_STEP} 0x{int(found[0]):016x} {step}"
    return " ".join([str(_LIST), *(f"0x{at:016x}" for at in found.tolist())])


def _step(addresses: NDArray[np.int64]) -> int | None:
    steps = np.diff(addresses)
    if not len(steps):
        return 0
    return int(steps[0]) if (steps == steps[0]).all() else None


def _head(instruction: Instruction) -> str:
    """Registers and opcode of an instruction. The first operand is what it writes, unless that is a
    memory; registers that hold addresses are read."""
    written: list[int] = []
    read: list[int] = []
    for at, operand in enumerate(instruction.operands):
        if isinstance(operand, Memory):
            read += [_number(operand.base)] if operand.base is not None else []
        elif isinstance(operand, Register) and operand.file == "R":
            (read if at or written else written).append(_number(operand))
    words = [str(len(written)), *(f"R{n}" for n in written), instruction.opcode]
    sources = read[:_MOST_SOURCES]
    return " ".join([*words, str(len(sources)), *(f"R{n}" for n in sources)])


def _number(register: Register) -> int:
    return _ZERO if register.number is None else register.number
