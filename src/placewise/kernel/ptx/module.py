"""What a PTX module consists of, as far as executing it needs to know."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class Register(NamedTuple):
    """A declared register. ``type`` is that of its declaration without the dot, such as ``b32`` or
    ``pred``."""

    name: str
    type: str


class Special(NamedTuple):
    """A predefined register such as ``%tid.x``."""

    name: str


class Immediate(NamedTuple):
    """A literal. ``value`` is an int, or the bits of a ``0f``/``0d`` literal of ``float_bits``."""

    value: int | float
    float_bits: int = 0
    """32 or 64 for ``0f…``/``0d…`` literals (``value`` holds the bits), 0 otherwise."""


class Symbol(NamedTuple):
    """A variable, function or label name, with a byte offset for variables."""

    name: str
    offset: int = 0


class Address(NamedTuple):
    """``[base + offset]``; ``base`` is None for an absolute address.

    ``coordinates`` holds the second operand of texture and surface accesses.
    """

    base: Register | Symbol | None
    offset: int
    coordinates: tuple[Operand, ...] = ()


class Vector(NamedTuple):
    """``{a, b, …}``"""

    elements: tuple[Operand, ...]


class Pair(NamedTuple):
    """``a|b``: a second destination."""

    first: Operand
    second: Operand


class Negated(NamedTuple):
    """``!p`` as a source."""

    register: Register


class Selected(NamedTuple):
    """``%r1.b2``: a part of a register, in video instructions."""

    register: Register
    selector: str


class Sink(NamedTuple):
    """``_``: a destination that is dropped."""


class Arguments(NamedTuple):
    """``(a, b)`` of a call."""

    elements: tuple[Operand, ...]


Operand = (
    Register
    | Special
    | Immediate
    | Symbol
    | Address
    | Vector
    | Pair
    | Negated
    | Selected
    | Sink
    | Arguments
)


class Instruction(NamedTuple):
    """One instruction; ``opcode`` is the full dotted text, ``parts`` the same split at the dots."""

    opcode: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    guard_negated: bool
    line: int
    """Line in the PTX text, from 1."""
    place: tuple[int, int] | None
    """(file number, source line), calls inlined by the compiler traced back to their call."""


class Label(NamedTuple):
    """A branch target in a function's body."""

    name: str


@dataclass(frozen=True)
class Variable:
    """A variable in a state space, or a parameter."""

    name: str
    space: str
    """global, const, shared, local or param."""
    size: int
    """Bytes; 0 for an array of unknown length (dynamic shared memory)."""
    align: int
    initial: bytes | None = None
    """All bytes of the content; None without an initial value."""
    relocations: tuple[tuple[int, str, int], ...] = ()
    """(byte offset, symbol, addend): 8-byte addresses inside ``initial``."""
    external: bool = False
    line: int = 0
    type: str = ""
    """Element type as in PTX without the dot: ``f32``, ``u64``, ``b8`` …"""


class Prototype(NamedTuple):
    """``.callprototype``: sizes in bytes of what a call through a pointer returns and passes."""

    results: tuple[int, ...]
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """An entry or device function."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    body: tuple[Instruction | Label, ...]
    locals: tuple[Variable, ...]
    """Variables declared in the body: shared, local and call parameters, names made unique."""
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, Prototype] = field(default_factory=dict)
    cluster: int = 1
    """Blocks of a cluster that the entry asks for."""
    max_threads: int | None = None
    line: int = 0


@dataclass(frozen=True)
class Outline:
    """What a PTX text says it is, and the names of its kernels."""

    version: str
    """Empty where the text does not say."""
    target: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """An entry, what it calls, and the module's variables."""

    version: str
    target: str
    files: dict[int, str]
    variables: dict[str, Variable]
    used: frozenset[str]
    """Variables that some function or another variable's initial value mentions."""
    parameters: tuple[Variable, ...]
    """Parameters of the entry."""
    parse_functions: Callable[[], dict[str, Function]] = field(repr=False, compare=False)
    declared: frozenset[str]
    """Functions named without a body (``vprintf``)."""
    function_lines: dict[str, int] = field(default_factory=dict)
    """PTX line of every function with a body, whether the entry needs it or not."""
    checksum: int = 0
    """CRC-32 of the whole text."""
    taken: frozenset[str] = frozenset()
    """Functions whose address is taken by code or an initial value anywhere in the text. Another
    kernel of the module, or the host through a variable, may store the address for this kernel to
    call."""

    @functools.cached_property
    def functions(self) -> dict[str, Function]:
        """The entry and what it calls; raises CaseError for bodies that are not PTX, located."""
        return self.parse_functions()
