"""nvdisasm's output to a typed listing.

The instructions come from its JSON output, where targets of branches are offsets; their encodings
and source lines from the cubin.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from placewise.errors import CompileError, UnsupportedError
from placewise.kernel.binary.sass.instruction import (
    INSTRUCTION_BYTES,
    Instruction,
    Listing,
    Register,
)
from placewise.kernel.binary.sass.operands import parse_operand, split_operands


def read_listing(
    entry: str, code: bytes, json_text: str, places: Mapping[int, tuple[str, int]]
) -> Listing:
    """The kernel ``entry`` of a disassembled cubin.

    ``code`` are the bytes of its section, ``json_text`` what ``nvdisasm -c -json`` prints and
    ``places`` source file and line of instructions, by offset. Raises CompileError where they do
    not fit together, UnsupportedError, located, for an operand of unknown form.
    """
    functions: list[dict[str, Any]] = json.loads(json_text)[1]
    found = next((f for f in functions if f["function-name"] == entry), None)
    if found is None:
        raise CompileError(f"the disassembly has no kernel '{entry}'")
    raw = found["sass-instructions"]
    if len(raw) * INSTRUCTION_BYTES != len(code):
        raise CompileError(
            f"the disassembly of '{entry}' has {len(raw)} instructions, its code {len(code)} bytes"
        )
    return Listing(entry, tuple(_instruction(n, item, code, places) for n, item in enumerate(raw)))


def _instruction(
    number: int, item: dict[str, Any], code: bytes, places: Mapping[int, tuple[str, int]]
) -> Instruction:
    offset = number * INSTRUCTION_BYTES
    opcode = item["opcode"].strip()
    try:
        operands = tuple(parse_operand(o) for o in split_operands(item.get("operands", "")))
        guard = _guard(item.get("predicate", ""))
    except UnsupportedError as error:
        place = places.get(offset)
        where = f"{place[0]}:{place[1]}" if place else f"machine code at {offset:#06x}"
        raise UnsupportedError(f"instruction '{opcode}': {error.message}", where=where) from error
    return Instruction(
        opcode,
        tuple(opcode.split(".")),
        operands,
        guard,
        offset,
        int.from_bytes(code[offset : offset + INSTRUCTION_BYTES], "little"),
        places.get(offset),
    )


def _guard(text: str) -> Register | None:
    """The predicate under which an instruction executes. For P2R and R2P nvdisasm prints their
    operand PR in its place."""
    if not text or text in ("PR", "UPR"):
        return None
    guard = parse_operand(text.removeprefix("@"))
    if not text.startswith("@") or not isinstance(guard, Register):
        raise UnsupportedError(f"predicate '{text}' is not covered")
    return guard
