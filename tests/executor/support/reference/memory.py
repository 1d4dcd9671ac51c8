"""Address spaces as plain bytes, and the record of every access."""

from dataclasses import dataclass, field
from typing import NamedTuple

WINDOW = 40
"""Bits of an address below the number of the region it points into."""

SHARED, LOCAL, PARAM, FIRST = 1, 2, 3, 16


class KernelError(Exception):
    """The kernel does what it must not, or what this interpreter does not know."""


class Access(NamedTuple):
    """One thread's access; ``where`` is an array's name, ``shared`` or ``local``."""

    line: int
    where: str
    block: int
    thread: int
    offset: int
    size: int


class Region(NamedTuple):
    """Memory that addresses of one window reach; ``texel`` describes a texture's elements."""

    name: str
    data: bytearray
    texel: tuple[str, int] | None = None


@dataclass
class Memory:
    """What all blocks of a launch share."""

    regions: dict[int, Region] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)

    def add(self, name, data, texel=None):
        """Put bytes into a window of their own; returns its first address."""
        number = FIRST + len(self.regions)
        self.regions[number] = Region(name, bytearray(data), texel)
        return number << WINDOW


def locate(thread, space, address):
    """(name, bytes, offset) that an address of a space, or a generic one, means to a thread."""
    if space == "shared":
        return "shared", thread.block.shared, address & 0xFFFFFFFF
    if space == "local":
        return "local", thread.local, address & 0xFFFFFFFF
    number, offset = address >> WINDOW, address & ((1 << WINDOW) - 1)
    if space == "generic" and number == SHARED:
        return "shared", thread.block.shared, offset
    if space == "generic" and number == LOCAL:
        return "local", thread.local, offset
    if number == PARAM and space in ("param", "generic"):
        return "param", thread.block.parameters, offset
    region = thread.block.memory.regions.get(number)
    if region is None:
        raise KernelError(f"address {address:#x} points nowhere")
    return region.name, region.data, offset


def reach(thread, line, space, address, size):
    """Like :func:`locate`, checked and recorded."""
    name, data, offset = locate(thread, space, address)
    if offset + size > len(data):
        raise KernelError(f"PTX line {line}: {name}+{offset} is beyond its {len(data)} bytes")
    if offset % size:
        raise KernelError(f"PTX line {line}: {name}+{offset} is not aligned to {size} bytes")
    if name != "param":
        access = Access(line, name, thread.block.number, thread.linear, offset, size)
        thread.block.memory.accesses.append(access)
    return data, offset
