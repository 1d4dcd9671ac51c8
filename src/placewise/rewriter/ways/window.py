"""Keep an array in L2 by an access policy window (way ``window``): the kernel does not change, the
host sets the window before the launch.

CUDA Programming Guide, "L2 Cache Control": part of L2 is set aside for persisting accesses. The
window's hit ratio is the share of the window that fits there, so that persisting lines do not evict
each other.
"""

from __future__ import annotations

from placewise.errors import UnsupportedError
from placewise.kernel.launch import AccessWindow
from placewise.kernel.source import ArrayUse
from placewise.machine import Machine
from placewise.rewriter.draft import Draft
from placewise.space import MemorySpace

_SET_ASIDE = 0.75
"""Share of L2 that is set aside where the machine file does not give it: the most that the example
in NVIDIA's programming guide sets aside."""


def access_window(
    array: str, size_bytes: int, space: MemorySpace, machine: Machine
) -> AccessWindow:
    """The window over an array of ``size_bytes`` on a machine. Raises UnsupportedError where its
    file does not state the size of L2."""
    l2 = next((m for m in machine.levels(space.name)[:-1] if m.scope == "die"), None)
    if l2 is None or not l2.size_bytes:
        raise UnsupportedError(
            f"array '{array}' cannot be placed in {space.name}: the size of L2 is not known",
            where=machine.name,
        )
    set_aside = l2.detail.set_aside_bytes or int(_SET_ASIDE * l2.size_bytes)
    covered = min(size_bytes, l2.detail.window_bytes or size_bytes)
    return AccessWindow(array, covered, min(1.0, set_aside / covered), set_aside)


def place_window(draft: Draft, use: ArrayUse, space: MemorySpace, machine: Machine) -> None:
    """Set the launch's window to the array, and write the host code for it. Raises UnsupportedError
    where the launch has a window over another array."""
    if draft.window is not None and draft.window.array != use.name:
        raise UnsupportedError(
            f"a launch has one access policy window, over '{draft.window.array}'",
            where=draft.case.filename,
        )
    window = access_window(use.name, draft.data_of(use).nbytes, space, machine)
    draft.window = window
    draft.notes.append(f"{use.name}: {space.name} (access policy window, set by the host)")
    draft.edits.append(
        f"{use.name}: the host sets {window.set_aside_bytes} bytes of L2 aside and a window of "
        f"{window.size_bytes} bytes, hit ratio {window.hit_ratio:.3g}"
    )
    draft.host += _host(window)


def _host(window: AccessWindow) -> list[str]:
    name = f"{window.array}_policy"
    field = f"{name}.accessPolicyWindow"
    return [
        f"// {window.array}: lines that L2 keeps; the launch must be on this stream",
        f"cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, {window.set_aside_bytes});",
        f"cudaStreamAttrValue {name} = {{}};",
        f"{field}.base_ptr = {window.array};  // device pointer, as before",
        f"{field}.num_bytes = {window.size_bytes};",
        f"{field}.hitRatio = {window.hit_ratio:.6f}f;",
        f"{field}.hitProp = cudaAccessPropertyPersisting;",
        f"{field}.missProp = cudaAccessPropertyStreaming;",
        "cudaStream_t stream;",
        "cudaStreamCreate(&stream);",
        f"cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &{name});",
    ]
