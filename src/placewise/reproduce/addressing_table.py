"""Huang and Li 2017, section III-B: instructions to address an element, by type and memory."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.model.huang_li.addressing import (
    KEPLER_FLOAT,
    MEMORIES,
    TYPES,
    Addressing,
    addressing,
)
from placewise.progress import Progress, silent
from placewise.reproduce.result import Cell, Reproduction, Table

ARCHITECTURES = ("sm_75", "sm_86", "sm_90", "sm_120")


def addressing_reproduction(
    progress: Progress = silent, architectures: Sequence[str] = ARCHITECTURES
) -> Reproduction:
    """The printed row for Kepler and the counts from compiled machine code of ``architectures``."""
    rows: list[tuple[Cell, ...]] = [
        ("Kepler", "float", *(KEPLER_FLOAT[m] for m in MEMORIES), "paper"),
        ("Kepler", "int, double", None, None, None, None, "paper: analysed, not printed"),
    ]
    for done, arch in enumerate(architectures):
        progress("compiling loads", done, len(architectures))
        alike: dict[tuple[str | None, ...], list[str]] = {}
        for type_ in TYPES:
            counts = tuple(_words(addressing(arch, type_, m)) for m in MEMORIES)
            alike.setdefault(counts, []).append(type_)
        rows += [
            (arch, ", ".join(types), *counts, "program, from compiled machine code")
            for counts, types in alike.items()
        ]
    floats = [addressing(arch, "float", m) for arch in architectures for m in MEMORIES]
    same = sum(
        found is not None and found.per_access == KEPLER_FLOAT[memory]
        for found, memory in zip(floats, MEMORIES * len(architectures), strict=True)
    )
    return Reproduction(
        "huang-li-addressing",
        "Huang and Li 2017, section III-B and Fig. 2",
        (
            Table(
                "Instructions that compute an element's address from its index, one dimension",
                ("architecture", "type", *MEMORIES, "source"),
                tuple(rows),
                (
                    "a + b: a for every access, b once (base addresses and constants, which do not "
                    "depend on the index)",
                    "Kepler's own code cannot be counted: there is no disassembler for it here",
                ),
            ),
        ),
        "2, 0, 1, 1 on Kepler: on Turing and later a global address takes one instruction "
        "(IMAD.WIDE) instead of two, a texture still none, constant memory still one; shared "
        "memory none up to sm_8x, where the load scales the index itself, and one from sm_90 on.",
        figures={"cells as on Kepler": same, "cells": len(floats)},
    )


def _words(found: Addressing | None) -> str | None:
    if found is None:
        return None
    return f"{found.per_access} + {found.once}" if found.once else str(found.per_access)
