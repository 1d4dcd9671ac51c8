"""Instructions as text, one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from placewise.kernel.binary.sass.instruction import INSTRUCTION_BYTES


def printed(json_text: str, entry: str) -> Mapping[int, str]:
    """Text of each instruction of ``entry`` by offset, branch targets as offsets.

    ``json_text`` is what ``nvdisasm -c -json`` prints.
    """
    functions: list[dict[str, Any]] = json.loads(json_text)[1]
    found = next((f for f in functions if f["function-name"] == entry), None)
    if found is None:
        return {}
    return {
        number * INSTRUCTION_BYTES: _text(item)
        for number, item in enumerate(found["sass-instructions"])
    }


def _text(item: dict[str, Any]) -> str:
    guard = f"@{item['predicate'].lstrip('@')} " if "predicate" in item else ""
    operands = ", ".join(part.strip() for part in item.get("operands", "").split(","))
    return f"{guard}{item['opcode'].strip()} {operands}".strip()
