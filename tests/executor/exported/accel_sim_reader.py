"""Reads traces as Accel-Sim's format is described: key lines, blocks, warps, instructions."""

import re
from dataclasses import dataclass, field


@dataclass
class Instruction:
    pc: int
    mask: int
    written: list
    opcode: str
    read: list
    width: int
    addresses: dict = field(default_factory=dict)
    """Lane → address."""


def commands(path):
    """(copies, kernels): ``MemcpyHtoD,ADDRESS,BYTES`` and names of kernels' files."""
    copies, kernels = [], []
    for line in path.read_text().splitlines():
        if line.startswith("MemcpyHtoD"):
            _, at, size = line.split(",")
            copies.append((int(at, 16), int(size)))
        elif line.startswith("kernel"):
            kernels.append(line)
    return copies, kernels


def kernel(path):
    """(values of the header, {(x, y, z): [instructions of each warp]})."""
    header, blocks = {}, {}
    block, warp, left = None, None, 0
    for line in path.read_text().splitlines():
        if left:
            block[warp].append(instruction(line))
            left -= 1
        elif line.startswith("-"):
            key, _, value = line[1:].partition(" = ")
            header[key] = value
        elif line.startswith("thread block = "):
            block = blocks[tuple(map(int, re.findall(r"\d+", line)))] = {}
        elif line.startswith("warp = "):
            warp = int(line.rpartition(" ")[2])
            block[warp] = []
        elif line.startswith("insts = "):
            left = int(line.rpartition(" ")[2])
        else:
            assert line in ("", "#BEGIN_TB", "#END_TB") or line.startswith("#traces format")
    assert left == 0
    assert path.read_text().count("#BEGIN_TB") == path.read_text().count("#END_TB") == len(blocks)
    return header, {k: [v[n] for n in sorted(v)] for k, v in blocks.items()}


def instruction(line):
    """``PC mask dest_num [dests] opcode src_num [srcs] width [mode addresses]``."""
    words = iter(line.split())
    pc, mask = int(next(words), 16), int(next(words), 16)
    written = [next(words) for _ in range(int(next(words)))]
    opcode = next(words)
    read = [next(words) for _ in range(int(next(words)))]
    found = Instruction(pc, mask, written, opcode, read, int(next(words)))
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    if found.width:
        mode = int(next(words))
        if mode == 0:
            found.addresses = {lane: int(next(words), 16) for lane in lanes}
        else:
            assert mode == 1
            base, step = int(next(words), 16), int(next(words))
            # The reader walks the lanes from the first active one until one is not.
            assert lanes == list(range(lanes[0], lanes[0] + len(lanes)))
            found.addresses = {lane: base + step * n for n, lane in enumerate(lanes)}
    assert next(words, None) is None, line
    assert len(read) <= 4
    assert len(written) <= 1
    return found
