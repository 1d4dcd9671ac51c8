"""Instructions that compute an element's address from its index, by type and memory.

Section III-B of Huang and Li 2017: moving an array changes the number of executed instructions by
what its addressing mode takes. They print the counts for one-dimensional arrays of float on Kepler;
for a current architecture the counts are read here from the machine code of a kernel that does
nothing but load one element: of all instructions that the load's address rests on, those that
depend on the index. Constants and base addresses that do not are fetched once and leave loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from placewise.errors import UnsupportedError
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass import Constant, Instruction, Memory, Operand, Register
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.toolchain import DEFAULT_NVRTC

MEMORIES = ("global", "texture", "constant", "shared")
TYPES = ("float", "int", "double", "float4")
KEPLER_FLOAT: Mapping[str, int] = {"global": 2, "texture": 0, "constant": 1, "shared": 1}
"""As printed for one-dimensional arrays of float on a K80 (section III-B)."""

_LOADS = {"global": "LDG", "texture": "TLD", "constant": "LDC", "shared": "LDS"}
_ELEMENTS = 1024
_SOURCES = {
    "global": ("", ", const {type} *a", "a[i]"),
    "texture": ("", ", cudaTextureObject_t a", "tex1Dfetch<{type}>(a, i)"),
    "constant": ("__constant__ {type} a[{elements}];", "", "a[i]"),
    "shared": ("extern __shared__ {type} a[];", "", "a[i]"),
}
_KERNEL = """
{declaration}
__global__ void load({type} *found, int n{parameter}) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {type} x = {element};
    if ({first} == 1) *found = x;
}}
"""
"""The index is kept in a register by the test against n; the store has an address of its own."""


@dataclass(frozen=True)
class Addressing:
    """Instructions for the address of one load."""

    per_access: int
    """Instructions that depend on the index, for each access."""
    once: int
    """Instructions that do not depend on it (base addresses, constants), once per thread."""


@lru_cache(maxsize=256)
def addressing(arch: str, type_: str, memory: str, nvrtc: str = DEFAULT_NVRTC) -> Addressing | None:
    """Counts for ``type_`` in ``memory`` (of :data:`MEMORIES`), from code compiled for ``arch``.

    None where such loads do not exist (textures of double). Raises UnsupportedError for an
    architecture whose machine code cannot be listed.
    """
    if memory == "texture" and type_ == "double":
        return None
    declaration, parameter, element = _SOURCES[memory]
    filled = {"type": type_, "elements": _ELEMENTS}
    source = _KERNEL.format(
        type=type_,
        declaration=declaration.format(**filled),
        parameter=parameter.format(**filled),
        element=element.format(**filled),
        first="x.x" if type_.endswith("4") else "x",
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
    """Executed instructions per access that a move from ``sample`` to ``target`` memory adds; types
    other than :data:`TYPES` count as the one of their size that is there, ``float`` in doubt."""
    known = type_ if type_ in TYPES else "float"
    one, other = addressing(arch, known, sample, nvrtc), addressing(arch, known, target, nvrtc)
    return (other.per_access if other else 0) - (one.per_access if one else 0)


def _count(instructions: tuple[Instruction, ...], opcode: str) -> Addressing:
    """Walk back from the load's address through straight-line code."""
    at = next(n for n, i in enumerate(instructions) if i.parts[0] == opcode and _is_load(i))
    index = _index(instructions[:at])
    depends: dict[int, bool] = {}

    def walk(before: int, registers: frozenset[tuple[str, int]]) -> bool:
        """Whether any of ``registers``, as they are before an instruction, depends on the index."""
        found = False
        for register in registers:
            n = _writer(instructions, before, register)
            if n is None:
                continue
            if n == index:
                found = True
                continue
            if n not in depends:
                depends[n] = walk(n, _registers(instructions[n].operands[1:]))
            found = found or depends[n]
        return found

    walk(at, _registers(instructions[at].operands[1:]))
    return Addressing(sum(depends.values()), len(depends) - sum(depends.values()))


def _writer(
    instructions: tuple[Instruction, ...], before: int, register: tuple[str, int]
) -> int | None:
    """Number of the last instruction before ``before`` that writes ``register``."""
    for n in range(before - 1, -1, -1):
        if register in _written(instructions[n]):
            return n
    return None


def _is_load(instruction: Instruction) -> bool:
    """Whether a constant load is of the array: it has an address in a register."""
    if instruction.parts[0] != "LDC":
        return True
    return any(isinstance(o, Constant) and o.base is not None for o in instruction.operands)


def _index(instructions: tuple[Instruction, ...]) -> int | None:
    """Number of the instruction that makes the index: what is compared with n."""
    for at, instruction in enumerate(instructions):
        if instruction.parts[0] != "ISETP":
            continue
        for operand in instruction.operands[1:]:
            if isinstance(operand, Register) and operand.file == "R":
                compared = _registers((operand,))
                return _writer(instructions, at, next(iter(compared))) if compared else None
    return None


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
