"""Which compiler target stands for a machine."""

from __future__ import annotations

from dataclasses import replace

from placewise.kernel.cases.case import Case
from placewise.kernel.frontends.nvrtc import compiler_version, supported_archs
from placewise.kernel.toolchain import DEFAULT_NVRTC
from placewise.machine import Machine


def for_machine(case: Case, machine: Machine, nvrtc: str | None = None) -> tuple[Case, str | None]:
    """``case``, to be compiled for ``machine``, and a note where the target is only a stand-in.
    ``nvrtc`` replaces the case's own version of the compiler."""
    nvrtc = nvrtc or case.options.nvrtc
    arch, stand_in = target_for(machine.limits.compute_capability, nvrtc)
    return replace(case, options=replace(case.options, arch=arch, nvrtc=nvrtc)), stand_in


def target_for(
    compute_capability: tuple[int, int], nvrtc: str = DEFAULT_NVRTC
) -> tuple[str, str | None]:
    """Target of that NVRTC for a compute capability, and a note where it is only a stand-in.

    Machines older than the compiler's oldest target are represented by that target's code; newer
    or missing ones by the newest target of at most their capability.
    """
    major, minor = compute_capability
    wanted = 10 * major + minor
    archs = supported_archs(nvrtc)
    if wanted in archs:
        return f"sm_{wanted}", None
    older = [arch for arch in archs if arch <= wanted]
    arch = max(older) if older else min(archs)
    return (
        f"sm_{arch}",
        f"compiled for sm_{arch}, the nearest target of NVRTC {compiler_version(nvrtc)} to this "
        f"machine's sm_{wanted}: registers and instruction counts are those of that target",
    )
