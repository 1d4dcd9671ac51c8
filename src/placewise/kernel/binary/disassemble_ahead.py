"""Listings of several kernels by one run of nvdisasm, before they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from placewise.errors import CompileError
from placewise.kernel.binary.cubin import CubinKernel, entries, read_cubin
from placewise.kernel.binary.machine_code import LISTED, OLDEST_DISASSEMBLED
from placewise.kernel.binary.sass.instruction import INSTRUCTION_BYTES
from placewise.kernel.kernel import Kernel
from placewise.kernel.toolchain import disassemble_code, is_disassembled, keep_disassembled

_NO_TARGET = ("BRX", "JMX", "WARPSYNC")
"""Instructions of control flow whose number is no place in the code: it counts from the branch
itself, or is a mask of lanes."""
_TARGET = "WARPSYNC.COLLECTIVE"
_NAMED = ("CALL.REL", "RET.REL")
"""Instructions whose target nvdisasm prints as the name of the function there."""


def disassemble_ahead(kernels: Iterable[Kernel]) -> None:
    """Have the listings of ``kernels`` ready for :func:`.machine_code.listing_of`.

    nvdisasm takes half a second to start, however little it reads, so that a run for each kernel
    costs more than one run for the code of all. Code with addresses that the loader fills in is
    left for a run of its own. Raises nothing: what fails here is reported when the listing is asked
    for.
    """
    wanted: dict[str, list[_Module]] = {}
    for kernel in kernels:
        try:
            if kernel.cubin is None or is_disassembled(kernel.cubin, LISTED):
                continue
            found = tuple(read_cubin(kernel.cubin, entry) for entry in entries(kernel.cubin))
        except CompileError:
            continue
        if all(k.target >= OLDEST_DISASSEMBLED and not k.relocations for k in found):
            wanted.setdefault(kernel.arch, []).append(_Module(kernel.cubin, found))
    for arch, modules in wanted.items():
        if len(modules) > 1:
            _disassemble(arch, modules)


class _Module(NamedTuple):
    cubin: bytes
    kernels: tuple[CubinKernel, ...]


def _disassemble(arch: str, modules: list[_Module]) -> None:
    code = b"".join(k.code for module in modules for k in module.kernels)
    try:
        header, (function,) = json.loads(disassemble_code(code, arch))
    except CompileError:
        return
    instructions: list[dict[str, Any]] = function["sass-instructions"]
    if len(instructions) * INSTRUCTION_BYTES != len(code):
        return
    start = 0
    for module in modules:
        functions = []
        for k in module.kernels:
            end = start + len(k.code)
            names = {0: k.entry, **{f.offset: f.name for f in k.functions}}
            own = instructions[start // INSTRUCTION_BYTES : end // INSTRUCTION_BYTES]
            listed = [_counted_from(start, instruction, names) for instruction in own]
            functions.append({"function-name": k.entry, "sass-instructions": listed})
            start = end
        keep_disassembled(module.cubin, LISTED, json.dumps([header, functions]))


def _counted_from(
    start: int, instruction: dict[str, Any], names: Mapping[int, str]
) -> dict[str, Any]:
    """An instruction of the kernel that begins at byte ``start``, as nvdisasm prints it of the
    kernel alone. ``names`` are those of the functions in its code, by offset."""
    opcode: str = instruction["opcode"]
    attributes = instruction.get("other-attributes", {})
    *others, printed = instruction.get("operands", "").split(",")
    no_target = opcode.startswith(_NO_TARGET) and not opcode.startswith(_TARGET)
    if "control-flow" not in attributes or not printed.startswith("0x") or no_target:
        return instruction
    target = int(printed, 16) - start
    named = opcode.startswith(_NAMED) and target in names
    if named and opcode.startswith("CALL"):
        attributes = {**attributes, "subroutine-call": "True"}
    operands = ",".join([*others, names[target] if named else hex(target)])
    return {**instruction, "operands": operands, "other-attributes": attributes}
