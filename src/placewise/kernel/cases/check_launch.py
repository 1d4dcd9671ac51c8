"""Whether a machine can launch a shape at all."""

from __future__ import annotations

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import MOST_LISTED, Launch, too_many_blocks
from placewise.machine.machine import Limits

_AXES = "xyz"


def check_launch(launch: Launch, limits: Limits, static_shared_bytes: int = 0) -> None:
    """Raises CaseError, located at the field, where ``launch`` exceeds the machine's limits."""
    if launch.threads_per_block > limits.max_threads_per_block:
        raise CaseError(
            f"a block of {launch.threads_per_block} threads {launch.block} exceeds the machine's "
            f"{limits.max_threads_per_block}",
            where="launch.block",
        )
    for what, given, largest in (
        ("block", launch.block, limits.max_block),
        ("grid", launch.grid, limits.max_grid),
    ):
        for axis, extent, limit in zip(_AXES, given, largest, strict=True):
            if extent > limit:
                raise CaseError(
                    f"{extent} along {axis} exceeds the machine's {limit}", where=f"launch.{what}"
                )
    shared = launch.shared_bytes + static_shared_bytes
    if shared > limits.shared_bytes_per_block:
        static = f" and {static_shared_bytes} static" if static_shared_bytes else ""
        raise CaseError(
            f"{launch.shared_bytes} bytes of dynamic{static} shared memory exceed the machine's "
            f"{limits.shared_bytes_per_block} per block",
            where="launch.shared_bytes",
        )


def check_case(case: Case, limits: Limits, static_shared_bytes: int = 0) -> None:
    """Raises CaseError, naming the case and the field, where its launch exceeds the machine's
    limits, and UnsupportedError for a grid of more blocks than can be traced."""
    if case.launch.blocks > MOST_LISTED:
        raise too_many_blocks(case.launch)
    try:
        check_launch(case.launch, limits, static_shared_bytes)
    except CaseError as error:
        where = f"{case.name}: {error.where}"
        raise CaseError(error.message, where=where, hint=error.hint) from error
