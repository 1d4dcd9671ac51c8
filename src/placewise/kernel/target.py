"""Which compiler target stands for a machine."""

from __future__ import annotations

from placewise.kernel.frontends.nvrtc import compiler_version, supported_archs
from placewise.kernel.toolchain import DEFAULT_NVRTC


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
