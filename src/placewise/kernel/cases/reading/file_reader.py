"""Reads what a declarative file says of a source and of values; nothing in it is evaluated as
code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.cases import array_sources as arrays
from placewise.kernel.cases import case_model as casemodel
from placewise.kernel.cases.case_model import SourceModel
from placewise.kernel.cases.make_case import Value
from placewise.kernel.cases.reading.data_sections import DataSections
from placewise.kernel.cases.size_formula import evaluate_size
from placewise.kernel.cases.strict_model import LaunchModel, Parameter, Size
from placewise.kernel.cases.values import POINTER, PointerTo, Struct, Uninitialised
from placewise.kernel.texture import SurfaceArgument, TextureArgument, texels_of


class FileReader:
    """A file with a source and values being read; sizes are looked up by name."""

    def __init__(self, path: Path, model: SourceModel) -> None:
        self.path = path
        self._shared = model
        self._data = DataSections(path, model, self.size)
        self.generated: dict[tuple[str, tuple[int, ...]], NDArray[np.generic]] = {}
        self.parameters: Mapping[str, Parameter] = {}

    def arguments(self) -> dict[str, Value]:
        """The values under ``[[arguments]]``, by name."""
        self._check_names()
        declared = self._shared.arguments
        return {a.name: self._argument(a, f"arguments.{a.name}") for a in declared}

    def options(self) -> dict[str, Any]:
        """What :func:`placewise.make_case` takes beside source, launch and arguments."""
        model = self._shared
        return {
            "defines": _define_texts({**model.defines, **self.parameters}),
            "include_paths": [self._file(p) for p in model.include],
            "std": model.std,
            "constants": {
                c.name: self._argument(c, f"constants.{c.name}") for c in model.constants
            },
            "buffers": {b.name: self._argument(b, f"buffers.{b.name}") for b in model.buffers},
            "flags": model.flags,
            "nvrtc": model.nvrtc,
            "name": model.name or self.path.stem,
            "description": model.description,
        }

    def shape_of(self, launch: LaunchModel, key: str) -> dict[str, Any]:
        """Grid or problem, block and dynamic shared memory of a launch, as
        :func:`placewise.make_case` takes them; ``key`` names the launch in messages."""
        extents = {
            "grid": launch.grid,
            "problem": launch.problem,
            "per_block": launch.per_block,
            "block": launch.block,
        }
        return {
            **{what: self.extent(d, f"{key}.{what}") for what, d in extents.items() if d},
            "shared_bytes": self.size(launch.shared_bytes, f"{key}.shared_bytes"),
        }

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Errors of what is done inside name the file."""
        try:
            yield
        except MemoryError as error:
            raise CaseError(
                "the arrays do not fit this computer's memory", where=str(self.path)
            ) from error
        except CaseError as error:
            if error.where and self._names_a_file(error.where):
                raise
            where = f"{self.path}: {error.where}" if error.where else str(self.path)
            raise CaseError(error.message, where=where, hint=error.hint) from error

    def _names_a_file(self, where: str) -> bool:
        """Whether a location starts with the case file or a file beside it already."""
        return where.startswith(str(self.path)) or (
            self.path.parent != Path() and where.startswith(str(self.path.parent))
        )

    def _check_names(self) -> None:
        for what, entries in (
            ("arguments", self._shared.arguments),
            ("constants", self._shared.constants),
            ("buffers", self._shared.buffers),
        ):
            seen: set[str] = set()
            for entry in entries:
                if entry.name in seen:
                    self.fail(f"{what}.{entry.name}", "is declared twice")
                seen.add(entry.name)

    def source(self) -> str | Path:
        if self._shared.code is not None:
            # A line break marks it as text, whatever it holds.
            return self._shared.code + "\n"
        path = self._file(self._shared.source or "")
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "no such file"
            self.fail("source", f"{what}: {path}")
        return path

    def _file(self, name: str) -> Path:
        try:
            return self.path.parent / Path(name).expanduser()
        except RuntimeError as error:
            raise CaseError(f"'{name}': no such user's folder", where=str(self.path)) from error

    def fail(self, key: str, message: str, hint: str | None = None) -> NoReturn:
        raise CaseError(message, where=f"{self.path}: {key}", hint=hint)

    def extent(self, sizes: list[Size], key: str) -> list[int]:
        """Sizes along each dimension, each a number, a name or a formula."""
        return [self.size(size, key) for size in sizes]

    def _shape(self, sizes: list[Size], key: str) -> tuple[int, ...]:
        return tuple(self.size(size, f"{key}.shape") for size in sizes)

    def size(self, size: Size, key: str) -> int:
        """A number, what its name stands for, or a formula of such."""
        if isinstance(size, int):
            return size
        try:
            found = evaluate_size(size, lambda name: self._named_size(name, key))
        except ValueError as error:
            self.fail(key, str(error), 'such as "n", "A.rows" or "(n + 1) // 2"')
        if not 0 <= found < 2**63:
            self.fail(key, f"'{size}' is {found}, which is no size")
        return found

    def _named_size(self, size: str, key: str) -> int:
        name, _, part = size.partition(".")
        if not part and name in self._shared.sizes:
            return self._shared.sizes[name]
        if not part and name in self.parameters:
            return self._parameter(name, key)
        found = self._data.size(name, part, key)
        if found is None:
            names = ", ".join([*self._shared.sizes, *self._shared.parameters, *self._data.names()])
            self.fail(key, f"no size is called '{size}'", f"declared: {names or 'none'}")
        return found

    def _parameter(self, name: str, key: str) -> int:
        value = self.parameters[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
            self.fail(key, f"the parameter '{name}' is {value!r}, which is no size")
        return value

    def _argument(self, model: Any, key: str) -> Value:
        """The value of an argument, as a texture or surface object if the file says so."""
        value = self._value(model, key)
        if not isinstance(model, casemodel.Shown) or not (model.texture or model.surface):
            return value
        if not key.startswith("arguments."):
            self.fail(key, "only an argument can be a texture or surface object")
        assert isinstance(value, np.ndarray)
        shown: TextureArgument | SurfaceArgument
        if model.texture is not None:
            width = model.texture.width
            texels = None if width is None else self.size(width, f"{key}.texture.width")
            geometry, sampler = model.texture.geometry, model.texture.sampler()
            shown = TextureArgument(key, value, geometry, sampler, texels)
        else:
            assert model.surface is not None
            shown = SurfaceArgument(key, value, model.surface.geometry)
        texels_of(shown, key)
        return shown

    def _value(self, model: Any, key: str) -> Value:
        where = f"{self.path}: {key}"
        match model:
            case casemodel.ValueArgument():
                return self._scalar(model.value, model.dtype, f"{key}.value")
            case casemodel.UninitialisedArgument():
                shape = self._shape(model.shape, key)
                arrays.check_size(shape, arrays.stored_type(model.dtype), f"{where}.shape")
                return Uninitialised(shape, arrays.stored_type(model.dtype))
            case casemodel.PointerArgument():
                # Null alone is a number like any other.
                return self._pointer(model.pointer, f"{key}.pointer") or POINTER.type(0)
            case casemodel.PointersArgument():
                return [self._pointer(p, f"{key}.pointers") for p in model.pointers]
            case casemodel.StructArgument():
                return self._struct(model.struct, f"{key}.struct")
            case casemodel.StructsArgument():
                return self._structs(model, f"{key}.structs")
            case casemodel.FileArgument():
                return self._from_file(model, key)
            case casemodel.MatrixArgument():
                self._require(model.matrix, self._shared.matrices, "matrix", key)
                part = getattr(self._data.matrix(model.matrix), model.part)
                return arrays.converted(part, model.dtype, where)
            case casemodel.DatasetArgument():
                self._require(model.dataset, self._shared.datasets, "dataset", key)
                part = self._data.dataset_part(model.dataset, model.part, f"{key}.part")
                return arrays.converted(part, model.dtype, where)
            case casemodel.ImageArgument():
                self._require(model.image, self._shared.images, "image", key)
                return self._data.image(model.image).astype(model.dtype)
            case casemodel.StackArgument():
                return self._stack(model, f"{key}.stack")
            case casemodel.GaussianArgument():
                radius = self.size(model.gaussian.radius, f"{key}.gaussian.radius")
                arrays.check_size((2 * radius + 1,), np.float64, f"{where}.gaussian.radius")
                taps = arrays.gaussian_taps(radius, model.gaussian.sigma)
                return arrays.converted(taps, model.dtype, where)
            case casemodel.ValuesArgument():
                values = arrays.converted(np.array(model.values), model.dtype, f"{where}.values")
                shape = self._shape(model.shape, key) if model.shape else values.shape
                if int(np.prod(shape)) != values.size:
                    self.fail(f"{key}.shape", f"{shape} does not hold {values.size} values")
                return values.reshape(shape)
            case _:
                return self._generated(model, key)

    def _require(self, name: str, declared: Mapping[str, object], what: str, key: str) -> None:
        """An error unless the file declares the matrix, image or data set ``name``."""
        if name not in declared:
            known = ", ".join(declared) or "none"
            self.fail(f"{key}.{what}", f"no {what} '{name}'", f"declared: {known}")

    def _scalar(self, value: bool | int | float | str, dtype: str, key: str) -> np.generic:
        number = self.size(value, key) if isinstance(value, str) else value
        given: NDArray[np.generic] = np.array([number])
        scalar: np.generic = arrays.converted(given, dtype, f"{self.path}: {key}")[0]
        return scalar

    def _pointer(self, target: str | casemodel.PointerModel, key: str) -> PointerTo | None:
        if isinstance(target, str):
            return PointerTo(target) if target else None
        return PointerTo(target.array, self.size(target.element, f"{key}.element"))

    def _struct(self, fields: list[casemodel.FieldModel], key: str) -> Struct:
        values: dict[str, object] = {}
        types: list[tuple[str, np.dtype[np.generic]]] = []
        for field in fields:
            where = f"{key}.{field.name}"
            if field.name in values:
                self.fail(where, "is declared twice")
            if field.pointer is not None:
                values[field.name] = self._pointer(field.pointer, where)
                types.append((field.name, POINTER))
            elif field.value is not None and field.dtype is not None:
                values[field.name] = self._scalar(field.value, field.dtype, where)
                types.append((field.name, arrays.stored_type(field.dtype)))
        return Struct(np.dtype(types, align=True), values)

    def _structs(self, model: casemodel.StructsArgument, key: str) -> NDArray[np.generic]:
        """An array of structs with the members' values."""
        shape = self._shape(model.shape, key)
        columns: dict[str, NDArray[np.generic]] = {}
        for member in model.structs:
            where = f"{key}.{member.name}"
            if member.name in columns:
                self.fail(where, "is declared twice")
            column = self._value(member, where)
            assert isinstance(column, np.ndarray)
            if column.shape[: len(shape)] != shape:
                self.fail(where, f"has shape {column.shape}, the array {shape}")
            columns[member.name] = column
        return arrays.structs_of(columns, shape, f"{self.path}: {key}")

    def _stack(self, model: casemodel.StackArgument, key: str) -> NDArray[np.generic]:
        """The entries one after another, along a new first axis."""
        shape = self._shape(model.shape, key)
        stored = arrays.stored_type(model.dtype)
        arrays.check_size((len(model.stack), *shape), stored, f"{self.path}: {key}")
        entries: list[NDArray[np.generic]] = []
        for n, entry in enumerate(model.stack, start=1):
            found = self._value(entry, f"{key}.{n}")
            assert isinstance(found, np.ndarray)
            if found.shape != shape or found.dtype != stored:
                self.fail(f"{key}.{n}", f"is {found.dtype} {found.shape}, not {stored} {shape}")
            entries.append(found)
        return np.stack(entries)

    def _generated(self, model: Any, key: str) -> NDArray[np.generic]:
        """Elements that a rule makes; once for all cases of the file that want the same shape.

        Of integers the bound may depend on a parameter, so they are made anew.
        """
        shape = self._shape(model.shape, key)
        if isinstance(model, casemodel.IntegersArgument):
            return self._made(model, shape, key)
        if (key, shape) not in self.generated:
            self.generated[key, shape] = self._made(model, shape, key)
        return self.generated[key, shape]

    def _made(self, model: Any, shape: tuple[int, ...], key: str) -> NDArray[np.generic]:
        stored = arrays.stored_type(model.dtype)
        arrays.check_size(shape, stored, f"{self.path}: {key}.shape")
        where = f"{self.path}: {key}"
        match model:
            case casemodel.FillArgument():
                value = arrays.converted(np.array([model.fill]), model.dtype, f"{where}.fill")
                # Zeros come from the system as they are needed.
                nothing = not value.tobytes().strip(b"\0")
                return np.zeros(shape, value.dtype) if nothing else np.full(shape, value[0])
            case casemodel.UniformArgument(uniform=spec):
                random = np.random.default_rng(spec.seed)
                if spec.sorted:
                    arrays.check_size(shape, np.float64, f"{where}.shape")
                    drawn = np.sort(random.uniform(spec.low, spec.high, shape))
                    return arrays.converted(drawn, model.dtype, where)
                low, high = spec.low, spec.high
                return arrays.drawn(
                    lambda n: random.uniform(low, high, n), shape, model.dtype, where
                )
            case casemodel.NormalArgument(normal=spec):
                random = np.random.default_rng(spec.seed)
                mean, spread = spec.mean, spec.deviation
                return arrays.drawn(
                    lambda n: random.normal(mean, spread, n), shape, model.dtype, where
                )
            case casemodel.IntegersArgument(integers=spec):
                high = self.size(spec.high, f"{key}.integers.high")
                if high <= spec.low:
                    self.fail(f"{key}.integers", f"no whole number is in [{spec.low}, {high})")
                arrays.check_size(shape, np.int64, f"{where}.shape")
                random = np.random.default_rng(spec.seed)
                return arrays.converted(random.integers(spec.low, high, shape), model.dtype, where)
            case _:
                arrays.check_size(shape, np.float64, f"{where}.shape")
                spec = model.arange
                count = int(np.prod(shape))
                values = spec.start + spec.step * np.arange(count)
                return arrays.converted(values, model.dtype, where).reshape(shape)

    def _from_file(self, model: casemodel.FileArgument, key: str) -> NDArray[np.generic]:
        path = self._file(model.file)
        array = arrays.load_array(path, model.member)
        arrays.check_size(array.shape, array.dtype, str(path))
        if model.dtype is not None and array.dtype != arrays.stored_type(model.dtype):
            self.fail(
                f"{key}.dtype",
                f"{path} holds {array.dtype}, not {model.dtype}",
                f"convert it: np.save(path, array.astype(np.{model.dtype}))",
            )
        if model.shape is not None and array.shape != (shape := self._shape(model.shape, key)):
            self.fail(f"{key}.shape", f"{path} has shape {array.shape}, not {shape}")
        return array


def _define_texts(defines: Mapping[str, str | int | float | bool]) -> dict[str, object]:
    """Booleans as C++ writes them."""
    return {k: str(v).lower() if isinstance(v, bool) else v for k, v in defines.items()}
