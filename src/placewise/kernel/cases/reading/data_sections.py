"""The matrices, images and data sets of one case file: made when first asked for, then kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.cases import array_sources as arrays
from placewise.kernel.cases import data_model as models
from placewise.kernel.cases.case_model import SourceModel
from placewise.kernel.cases.generators.finite_element import hexahedra
from placewise.kernel.cases.generators.kept_matrix import Rows, kept_matrix, rows_of
from placewise.kernel.cases.generators.mesh import hexahedral_mesh, tetrahedra
from placewise.kernel.cases.generators.points import points
from placewise.kernel.cases.generators.radix_pass import radix_pass
from placewise.kernel.cases.generators.skewed import graph, skewed
from placewise.kernel.cases.strict_model import Size

Resolve = Callable[[Size, str], int]
"""Turns a size, given as a number, a name or a formula, into a number. The second argument names
the key for messages."""


@dataclass(frozen=True)
class _Plan:
    """What a generator is going to make. All sizes are known before anything is made."""

    make: Callable[..., Mapping[str, NDArray[Any]]]
    values: dict[str, Any]
    sizes: dict[str, int]
    numbers: int
    """About how many numbers are made, to bound the memory."""


class DataSections:
    """What ``[matrices]``, ``[images]`` and ``[datasets]`` of a case file stand for.

    All methods raise CaseError located at the file and the key.
    """

    def __init__(self, path: Path, model: SourceModel, resolve: Resolve) -> None:
        self._path = path
        self._model = model
        self._resolve = resolve
        self._matrices: dict[tuple[str, int], Rows] = {}
        self._images: dict[str, NDArray[np.uint8]] = {}
        self._datasets: dict[str, Mapping[str, NDArray[Any]]] = {}

    def names(self) -> tuple[str, ...]:
        """Names of all matrices, images and data sets."""
        return (*self._model.matrices, *self._model.images, *self._model.datasets)

    def size(self, name: str, part: str, key: str) -> int | None:
        """``rows`` … of the matrix, image or data set ``name``; None where there is none of that
        name. What a generator's settings tell is known without making it."""
        known: dict[str, int]
        if name in self._model.matrices:
            told = self._told(name)
            if part in told:
                return told[part]
            matrix = self.matrix(name)
            known = {"rows": matrix.shape[0], "columns": matrix.shape[1], "nnz": matrix.nnz}
        elif name in self._model.images:
            height, width = self.image(name).shape
            known = {"width": width, "height": height}
        elif name in self._model.datasets:
            known = self._plan(name).sizes
        else:
            return None
        if part not in known:
            asked = f"{name}.{part}" if part else name
            raise CaseError(
                f"no size is called '{asked}'",
                where=f"{self._path}: {key}",
                hint=f"'{name}' has {', '.join(known) or 'none'}",
            )
        return int(known[part])

    def matrix(self, name: str) -> Rows:
        """The matrix in CSR form, column indices sorted."""
        model = self._model.matrices[name]
        rows = self._told(name).get("rows", 0)
        if (name, rows) not in self._matrices:
            self._matrices[name, rows] = self._made_matrix(name, model)
        return self._matrices[name, rows]

    def _told(self, name: str) -> dict[str, int]:
        """Sizes of a generated matrix that follow from its settings, without making it."""
        model = self._model.matrices[name]
        if isinstance(model, models.MatrixFile):
            return {}
        if isinstance(model, models.Hexahedra):
            rows = math.prod(model.nodes)
        else:
            rows = self._resolve(model.rows, f"matrices.{name}.rows")
        return {"rows": rows, "columns": rows}

    def _made_matrix(self, name: str, model: models.AnyMatrix) -> Rows:
        key = f"{self._path}: matrices.{name}"
        if isinstance(model, models.MatrixFile):
            return rows_of(arrays.load_matrix(self._file(model.file)))
        if isinstance(model, models.Skewed):
            rows = self._told(name)["rows"]
            _check_pattern(rows, model.entries, f"{key}.rows")
            return rows_of(skewed(rows, model.entries, model.skew, model.seed))
        x, y, z = model.nodes
        # Each element has 8 × 8 entries before they are summed.
        arrays.check_size((x, y, z, 64), np.float64, f"{key}.nodes")
        return kept_matrix(hexahedra, (x, y, z), model.distortion, model.seed)

    def image(self, name: str) -> NDArray[np.uint8]:
        """(height, width) grey levels."""
        if name not in self._images:
            self._images[name] = arrays.load_image(self._file(self._model.images[name].file))
        return self._images[name]

    def dataset_part(self, name: str, part: str, key: str) -> NDArray[Any]:
        """One array of a data set."""
        plan = self._plan(name)
        identity = f"{name} {plan.values}"
        where = f"{self._path}: datasets.{name}"
        if identity not in self._datasets:
            arrays.check_size((plan.numbers,), np.float64, where)
            try:
                self._datasets[identity] = plan.make(**plan.values)
            except ValueError as error:
                raise CaseError(str(error), where=where) from error
        made = self._datasets[identity]
        if part not in made:
            raise CaseError(
                f"'{name}' has no part '{part}'",
                where=f"{self._path}: {key}",
                hint=f"its parts: {', '.join(made)}",
            )
        return made[part]

    def _plan(self, name: str) -> _Plan:
        """How a data set is made, with all sizes as numbers."""
        model = self._model.datasets[name]
        key = f"datasets.{name}"
        # Sizes may be names of others; flags and numbers are what they are.
        values = {field: getattr(model, field) for field in type(model).model_fields}
        del values["generate"]
        for field, value in values.items():
            if isinstance(value, list):
                values[field] = tuple(self._resolve(v, f"{key}.{field}") for v in value)
            elif isinstance(value, str):
                values[field] = self._resolve(value, f"{key}.{field}")
        match model:
            case models.Graph():
                nodes = values["nodes"]
                _check_pattern(nodes, model.edges, f"{self._path}: {key}.nodes")
                return _Plan(graph, values, {"nodes": nodes}, nodes)
            case models.Points():
                count = values["count"]
                per_point = 4 + values["neighbours"] + (count if model.distances else 0)
                return _Plan(points, values, {"points": count}, count * per_point)
            case models.HexahedralMesh():
                sizes = {
                    "nodes": math.prod(values["nodes"]),
                    "elements": math.prod(n - 1 for n in values["nodes"]),
                }
                return _Plan(hexahedral_mesh, values, sizes, 40 * sizes["nodes"])
            case models.Tetrahedra():
                elements = 6 * math.prod(values["cells"])
                return _Plan(tetrahedra, values, {"elements": elements}, 40 * elements)
            case models.RadixPass():
                return _Plan(radix_pass, values, {"keys": values["keys"]}, 4 * values["keys"])

    def _file(self, name: str) -> Path:
        try:
            return self._path.parent / Path(name).expanduser()
        except RuntimeError as error:
            raise CaseError(f"'{name}': no such user's folder", where=str(self._path)) from error


def _check_pattern(rows: int, entries: float, where: str) -> None:
    """Raises CaseError for a random matrix without rows or with too many entries."""
    arrays.check_size((rows, 4 + math.ceil(entries)), np.float64, where)
