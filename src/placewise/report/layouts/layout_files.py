"""Files that a recommended layout is written to."""

from __future__ import annotations

from pathlib import Path

from placewise.advisor.layouts.layout_advice import LayoutAdvice
from placewise.output_file import write_together
from placewise.report.formats import json_text
from placewise.rewriter.layouts import (
    cpp_conversion,
    cpp_matrix_conversion,
    numpy_conversion,
    numpy_matrix_conversion,
)


def write_layout_files(advice: LayoutAdvice, folder: Path) -> tuple[Path, ...]:
    """Write the report as JSON and, for each struct with a recommended layout and for matrices with
    a recommended order, the rewritten kernel and the host's conversions. Returns the files written.

    With several struct types, or structs and matrices, there is one kernel for each; only that one
    has its new layout in it.
    """
    texts = {"layout.json": json_text(advice.to_dict()) + "\n"}
    recommended = [(s.best, s.joined) for s in advice.structs if s.best is not None]
    for best, joined in recommended:
        if best.relaid is None:
            continue
        stem = Path(advice.case.file_name).stem
        if len(recommended) > 1:
            stem += f"-{best.relaid.names.type_name}"
        texts[f"{stem}.cu"] = best.relaid.case.source
        fields = () if joined is None else joined.fields
        texts[f"{stem}-convert.cuh"] = cpp_conversion(best.relaid, fields)
        texts[f"{stem}_convert.py"] = numpy_conversion(best.relaid, fields)
    orders = None if advice.matrices is None else advice.matrices.best
    if orders is not None and orders.reordered is not None:
        stem = Path(advice.case.file_name).stem + ("-matrices" if recommended else "")
        texts[f"{stem}.cu"] = orders.reordered.case.source
        texts[f"{stem}-convert.cuh"] = cpp_matrix_conversion(orders.reordered)
        texts[f"{stem}_convert.py"] = numpy_matrix_conversion(orders.reordered)
    return write_together(folder, texts)
