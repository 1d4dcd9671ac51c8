"""The curves of a probe as one figure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from placewise.errors import PlacewiseError
from placewise.probe.session import Findings
from placewise.probe.target import STREAMS, WIDTHS

_SIZE = (6.0, 3.6)
"""Inches of one panel."""
_BLUE, _ORANGE, _GREEN = "#1f5fa8", "#d9822b", "#3a8f4f"
_COLOURS = (_BLUE, _ORANGE, _GREEN)
_KB = 1024


def probe_curves(found: Findings) -> Figure:
    """A figure with a panel for each part that was measured; raises PlacewiseError where none
    was."""
    panels: list[Callable[[Axes, Findings], None]] = []
    if found.curve is not None:
        panels.append(_latency)
    if found.patterns:
        panels.append(_patterns)
    if found.banks:
        panels += [_bank_latency, _bank_rate]
    if found.streams:
        panels.append(_bandwidth)
    if found.instructions:
        panels.append(_instructions)
    if not panels:
        raise PlacewiseError("nothing was measured that could be drawn")
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(_SIZE[0] * columns, _SIZE[1] * rows + 0.4), layout="constrained")
    figure.suptitle(found.facts.name)
    axes = np.atleast_1d(figure.subplots(rows, columns)).reshape(-1)
    for axis, draw in zip(axes, panels, strict=False):
        draw(axis, found)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(visible=True, alpha=0.3)
        axis.set_axisbelow(True)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    return figure


def _latency(axis: Axes, found: Findings) -> None:
    assert found.curve is not None, "only drawn where there is one"
    axis.plot(found.curve.sizes / _KB, found.curve.cycles, ".-", color=_BLUE)
    path = found.paths.get("global")
    for number, cache in enumerate(path.caches if path else (), 1):
        if cache.capacity_bytes:
            axis.axvline(cache.capacity_bytes / _KB, color=_ORANGE, linestyle="--", linewidth=1)
            axis.annotate(
                f"cache {number}: {cache.capacity_bytes // _KB} KB, {cache.latency_cycles:.0f} clk",
                (cache.capacity_bytes / _KB, 1.0),
                xycoords=("data", "axes fraction"),
                rotation=90,
                va="top",
                ha="right",
                fontsize="small",
                color=_ORANGE,
            )
    axis.set(xscale="log", title="Lines of an array in random order")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set(xlabel="array, KB", ylabel="cycles of a load")
    axis.set_ylim(bottom=0)


def _patterns(axis: Axes, found: Findings) -> None:
    names = [f"{p.number}  {p.what}".replace(", ", ",\n") for p in found.patterns]
    bars = axis.barh(names, [p.cycles for p in found.patterns], color=_BLUE)
    axis.bar_label(bars, fmt="%.0f", padding=2, fontsize="small")
    axis.invert_yaxis()
    axis.tick_params(axis="y", labelsize="x-small")
    axis.set(title="Latency of global memory", xlabel="cycles")


def _bank_latency(axis: Axes, found: Findings) -> None:
    for width, colour in zip(WIDTHS, _COLOURS, strict=True):
        times = [t for t in found.banks if t.width == width]
        axis.plot([t.stride for t in times], [t.latency_cycles for t in times], ".-",
                  color=colour, label=f"{width} bytes a lane")  # fmt: skip
    axis.set(title="Shared memory: latency", xlabel="stride, in accesses", ylabel="cycles")
    _legend_above(axis)


def _bank_rate(axis: Axes, found: Findings) -> None:
    for width, colour in zip(WIDTHS, _COLOURS, strict=True):
        times = [t for t in found.banks if t.width == width]
        axis.plot([t.stride for t in times], [t.cycles_per_access for t in times], ".-",
                  color=colour, label=f"{width} bytes a lane")  # fmt: skip
    axis.set(title="Shared memory: throughput", xlabel="stride, in accesses")
    axis.set(ylabel="cycles of a warp's access")
    _legend_above(axis)


def _legend_above(axis: Axes) -> None:
    """Let the y axis begin at 0 and leave room for the legend above the highest point."""
    axis.set_ylim(0, 1.2 * axis.get_ylim()[1])
    axis.legend(fontsize="small", ncols=len(WIDTHS), loc="upper center")


def _bandwidth(axis: Axes, found: Findings) -> None:
    for level, colour in zip(STREAMS, _COLOURS, strict=True):
        times = [t for t in found.streams if t.level == level]
        axis.plot([t.warps_per_sm for t in times], [t.gb_per_s for t in times], ".-",
                  color=colour, label=level)  # fmt: skip
    warps = sorted({t.warps_per_sm for t in found.streams})
    axis.set(xscale="log", yscale="log", title="Bandwidth of reads, whole GPU")
    axis.set(xlabel="warps on each SM", ylabel="GB/s")
    axis.set_xticks(warps, [str(w) for w in warps])
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    axis.legend(fontsize="small")


def _instructions(axis: Axes, found: Findings) -> None:
    names = [t.opcode for t in found.instructions]
    bars = axis.barh(names, [t.lanes_per_cycle for t in found.instructions], color=_BLUE)
    labels = [f"{t.latency_cycles:.1f} clk" for t in found.instructions]
    axis.bar_label(bars, labels, padding=2, fontsize="small")
    axis.invert_yaxis()
    axis.tick_params(axis="y", labelsize="small")
    axis.set(title="Instructions: rate, and latency beside it", xlabel="threads a cycle, per SM")
