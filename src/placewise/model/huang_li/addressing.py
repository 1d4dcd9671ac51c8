"""Instructions that compute an element's address from its index, by type and memory.

Section III-B of Huang and Li 2017: moving an array changes the number of executed instructions by
what its addressing mode takes. They print the counts for one-dimensional arrays of float on Kepler;
for a current architecture the counts are found here from the machine code of a kernel that only
loads one element: of all instructions that the load's address is computed from, those that depend
on the index are counted. The others, such as constants and base addresses, are executed once,
outside of loops. For architectures whose machine code cannot be listed the paper's counts are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from placewise.errors import UnsupportedError
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass import Constant, Instruction, Memory, Operand, Register
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.toolchain import DEFAULT_NVRTC

MEMORIES = ("global", "texture", "constant", "shared")
TEXTURE_2D = "texture2d"
"""A texture of two dimensions (2T of Table IV), whose index is a column and a row."""
TYPES = ("float", "int", "double", "float2", "float4")
KEPLER_FLOAT: Mapping[str, int] = {"global": 2, "texture": 0, "constant": 1, "shared": 1}
"""As printed for one-dimensional arrays of float on a K80 (section III-B). The paper prints nothing
for other types; they get the same counts here, since the address is an index times a size for each
of them."""
KEPLER_2D = 2
"""Instructions that address a texture in two dimensions on Kepler. The paper prints no count: both
coordinates are converted to float."""
OLDEST_LISTED = 70
"""The oldest target whose machine code is listed; for earlier ones the paper's counts are used."""

_LOADS = {"global": "LDG", "texture": "TLD", "constant": "LDC", "shared": "LDS", TEXTURE_2D: "TEX"}
_ELEMENTS = 1024
_SOURCES = {
    "global": ("", ", const {type} *a", "a[i]"),
    "texture": ("", ", cudaTextureObject_t a", "tex1Dfetch<{type}>(a, i)"),
    "constant": ("__constant__ {type} a[{elements}];", "", "a[i]"),
    "shared": ("extern __shared__ {type} a[];", "", "a[i]"),
    TEXTURE_2D: ("", ", cudaTextureObject_t a", "tex2D<{type}>(a, i, row)"),
}
_KERNEL = """
{declaration}
__global__ void load({type} *found, int n{parameter}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n) return;
    {guard}
    {type} x = {element};
    if ({first} == 1) *found = x;
}}
"""
"""The comparison with n keeps the index in a register. The store does not use the index."""


@dataclass(frozen=True)
class Addressing:
    """Instructions for the address of one load."""

    per_access: int
    """Instructions that depend on the index, for each access."""
    once: int
    """Instructions that do not depend on it (base addresses, constants), once per thread."""


@lru_cache(maxsize=256)
def addressing(arch: str, type_: str, memory: str, nvrtc: str = DEFAULT_NVRTC) -> Addressing | None:
    """Counts for ``type_`` in ``memory`` (one of :data:`MEMORIES`, or :data:`TEXTURE_2D`), from
    code compiled for ``arch``; the counts printed for Kepler where ``arch`` is older than Volta.

    None where such loads do not exist (textures of double). Raises UnsupportedError for an
    architecture whose machine code cannot be listed.
    """
    if memory in ("texture", TEXTURE_2D) and type_ == "double":
        return None
    if int("".join(c for c in arch if c.isdigit()) or 0) < OLDEST_LISTED:
        return Addressing(KEPLER_2D if memory == TEXTURE_2D else KEPLER_FLOAT[memory], 0)
    declaration, parameter, element = _SOURCES[memory]
    filled = {"type": type_, "elements": _ELEMENTS}
    source = _KERNEL.format(
        type=type_,
        declaration=declaration.format(**filled),
        parameter=parameter.format(**filled),
        element=element.format(**filled),
        guard="if (row >= n) return;" if memory == TEXTURE_2D else "",
        first="x.x" if type_[-1] in "24" else "x",
    )
    kernel = compile_kernel(
        source, f"addressing-{memory}.cu", "load", CompileOptions(arch=arch, nvrtc=nvrtc)
    )
    instructions = machine_code(kernel).instructions
    if not instructions:
        raise UnsupportedError("machine code of this architecture cannot be listed", where=arch)
    return _count(instructions, _LOADS[memory])


def instruction_difference(
    arch: str, type_: str, sample: str, target: str, nvrtc: str = DEFAULT_NVRTC
) -> int:
    """Executed instructions per access that a move from ``sample`` to ``target`` memory adds. A
    type that is not in :data:`TYPES` counts as one of the same size that is, else as ``float``.

    Raises UnsupportedError where either memory has no loads of the type.
    """
    known = type_ if type_ in TYPES else "float"
    counts = []
    for memory in (sample, target):
        found = addressing(arch, known, memory, nvrtc)
        if found is None:
            raise UnsupportedError(f"there are no loads of {known} from {memory} memory")
        counts.append(found.per_access)
    return counts[1] - counts[0]


def first_of_addresses(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Offsets of the memory instructions that are the first to use the address in their registers.

    Instructions at fixed distances from one address share what it takes: the distances are part of
    their encoding. Compilers make use of this in unrolled loops.
    """
    written: dict[tuple[str, int], int] = {}
    used: set[frozenset[tuple[tuple[str, int], int]]] = set()
    found: set[int] = set()
    for number, instruction in enumerate(instructions):
        operands = [o for o in instruction.operands if isinstance(o, Memory)]
        if operands:
            registers = _registers(tuple(operands))
            address = frozenset((r, written.get(r, -1)) for r in registers)
            if address not in used:
                found.add(instruction.offset)
                used.add(address)
        elif instruction.parts[0] in _LOADS.values():
            found.add(instruction.offset)
        for register in _written(instruction):
            written[register] = number
    return frozenset(found)


def _count(instructions: tuple[Instruction, ...], opcode: str) -> Addressing:
    """Walk back from the load's address through straight-line code."""
    at = next(n for n, i in enumerate(instructions) if i.parts[0] == opcode and _is_load(i))
    indices = _indices(instructions[:at])
    depends: dict[int, bool] = {}

    def walk(before: int, registers: frozenset[tuple[str, int]]) -> bool:
        """Whether any of ``registers``, as they are before an instruction, depends on the index."""
        found = False
        for register in registers:
            n = _writer(instructions, before, register)
            if n is None:
                continue
            if n in indices:
                found = True
                continue
            if n not in depends:
                depends[n] = walk(n, _registers(instructions[n].operands[1:]))
            found = found or depends[n]
        return found

    walk(at, _coordinates(instructions[at]))
    return Addressing(sum(depends.values()), len(depends) - sum(depends.values()))


def _coordinates(load: Instruction) -> frozenset[tuple[str, int]]:
    """Registers that hold a load's address. A texture in two dimensions has a pair, and the listing
    names only the first."""
    if load.parts[0] != _LOADS[TEXTURE_2D]:
        return _registers(load.operands[1:])
    first = load.operands[2]
    if not isinstance(first, Register) or first.number is None:
        return frozenset()
    return frozenset((first.file, first.number + k) for k in range(2))


def _writer(
    instructions: tuple[Instruction, ...], before: int, register: tuple[str, int]
) -> int | None:
    """Number of the last instruction before ``before`` that writes ``register``."""
    for n in range(before - 1, -1, -1):
        if register in _written(instructions[n]):
            return n
    return None


def _is_load(instruction: Instruction) -> bool:
    """Whether an instruction with the load's opcode loads the array: then its address is in a
    register."""
    if instruction.parts[0] != "LDC":
        return True
    return any(isinstance(o, Constant) and o.base is not None for o in instruction.operands)


def _indices(instructions: tuple[Instruction, ...]) -> set[int]:
    """Numbers of the instructions that compute the index (or column and row): those whose result is
    compared with n."""
    found: set[int] = set()
    for at, instruction in enumerate(instructions):
        if instruction.parts[0] != "ISETP":
            continue
        for operand in instruction.operands[1:]:
            if isinstance(operand, Register) and operand.file == "R":
                for register in _registers((operand,)):
                    writer = _writer(instructions, at, register)
                    found |= {writer} if writer is not None else set()
                break
    return found


def _registers(operands: tuple[Operand, ...]) -> frozenset[tuple[str, int]]:
    """General and uniform registers that operands read."""
    found: set[tuple[str, int]] = set()

    def add(register: Register | None, width: int = 1) -> None:
        if register is not None and register.number is not None and register.file in ("R", "UR"):
            if "64" in register.suffixes:
                width = 2
            found.update((register.file, register.number + k) for k in range(width))

    for operand in operands:
        match operand:
            case Register():
                add(operand)
            case Memory():
                # An address of 64 bits is a pair, marked so on the register or not at all.
                add(operand.base)
                add(operand.uniform, 2)
            case Constant():
                add(operand.base)
    return frozenset(found)


def _written(instruction: Instruction) -> frozenset[tuple[str, int]]:
    """General and uniform registers that an instruction writes."""
    if not instruction.operands:
        return frozenset()
    target = instruction.operands[0]
    if not isinstance(target, Register) or target.number is None:
        return frozenset()
    width = 1
    if {"64", "WIDE"} & set(instruction.parts[1:]):
        width = 2
    if "128" in instruction.parts[1:]:
        width = 4
    return frozenset((target.file, target.number + k) for k in range(width))
