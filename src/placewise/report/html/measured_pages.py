"""The pages of ``placewise validate --html`` and ``placewise probe --html``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from placewise.probe.session import Findings
from placewise.report.html.page import Page
from placewise.report.measured.validation import validation_document
from placewise.report.probe.probe import probe_document

if TYPE_CHECKING:
    from placewise.validate import TableResult

_KB = 1024


def validation_page(results: Sequence[TableResult]) -> Page:
    """The page of models beside measured times."""
    names = ", ".join(result.machine.name for result in results)
    return Page(
        kind="validate",
        title=f"Predicted beside measured times: {names}",
        verdict=" ".join(_sentence(result) for result in results),
        document=validation_document(results),
    )


def _sentence(result: TableResult) -> str:
    told = [
        (m.accuracy.mean_error, m.model)
        for m in result.models
        if m.accuracy is not None and m.absolute
    ]
    if not told:
        return f"No model predicts times on {result.machine.name}."
    error, model = min(told)
    return (
        f"On {result.machine.name} {model} is nearest to the measured times, {error:.1%} off on "
        "average."
    )


def probe_page(found: Findings) -> Page:
    """The page of a probed GPU, with the curves behind what was found."""
    caches = found.paths["global"].caches if "global" in found.paths else ()
    sizes = [f"{c.capacity_bytes // _KB:,} KB" for c in caches if c.capacity_bytes]
    verdict = (
        f"{found.facts.name}: caches of {' and '.join(sizes)} on the way to global memory."
        if sizes
        else f"{found.facts.name}: no cache of global memory was found."
    )
    return Page(
        kind="probe",
        title=f"{found.facts.name}, probed",
        verdict=verdict,
        document=probe_document(found),
        curves=_curves(found),
    )


def _curves(found: Findings) -> list[dict[str, Any]]:
    """Documents :class:`placewise.schemas.page.Curve`."""
    curves = []
    if found.curve is not None:
        path = found.paths.get("global")
        curves.append(
            {
                "title": "Lines of an array in random order",
                "x_label": "array, KB",
                "y_label": "cycles of a load",
                "x": (found.curve.sizes / _KB).tolist(),
                "y": found.curve.cycles.tolist(),
                "marks": [
                    (c.capacity_bytes / _KB, f"cache {n}: {c.capacity_bytes // _KB} KB")
                    for n, c in enumerate(path.caches if path else (), 1)
                    if c.capacity_bytes
                ],
            }
        )
    for level in dict.fromkeys(t.level for t in found.streams):
        streams = {float(t.warps_per_sm): t.gb_per_s for t in found.streams if t.level == level}
        curves.append(_curve(f"Bandwidth of reads: {level}", "warps on each SM", "GB/s", streams))
    for width in dict.fromkeys(t.width for t in found.banks):
        banks = {float(t.stride): t.cycles_per_access for t in found.banks if t.width == width}
        title = f"Shared memory, {width} bytes a lane"
        curves.append(_curve(title, "stride, in accesses", "cycles of a warp's access", banks))
    return curves


def _curve(title: str, x_label: str, y_label: str, values: dict[float, float]) -> dict[str, Any]:
    return {
        "title": title,
        "x_label": x_label,
        "y_label": y_label,
        "x": list(values),
        "y": list(values.values()),
        "marks": [],
    }
