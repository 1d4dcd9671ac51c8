"""The shape of a declarative case file: strict models, so that a wrong key is a located error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from placewise.kernel.cases.data_model import AnyDataset, AnyMatrix, ImageFile
from placewise.kernel.cases.strict_model import (
    DtypeName,
    Finite,
    Int64,
    LaunchModel,
    Name,
    Parameter,
    Seed,
    Shape,
    Size,
    Strict,
    listed,
    within,
)
from placewise.kernel.texture import AddressMode, Geometry, Sampler
from placewise.kernel.toolchain import DEFAULT_NVRTC

SCHEMA = 1
"""Version of the case file's schema that this program reads."""


class Uniform(Strict):
    """Random real numbers in [low, high)."""

    low: Finite = 0.0
    high: Finite = 1.0
    seed: Seed
    sorted: bool = False
    """Ascending along the last axis: a random cumulative distribution."""

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if not self.low < self.high:
            raise ValueError(f"low {self.low} is not below high {self.high}")
        return self


class Normal(Strict):
    mean: Finite = 0.0
    deviation: Annotated[Finite, Field(ge=0)] = 1.0
    seed: Seed


class Integers(Strict):
    """Random whole numbers in [low, high)."""

    low: Int64 = 0
    high: Size
    seed: Seed


class Arange(Strict):
    start: Int64 | Finite = 0
    step: Int64 | Finite = 1


class Gaussian(Strict):
    """``2 * radius + 1`` taps of a Gaussian that sum to one."""

    radius: Size
    sigma: Annotated[Finite, Field(gt=0)]


class Argument(Strict):
    """The keys that all arguments have. Each subclass adds one source of values."""

    name: Name
    dtype: DtypeName


class TextureModel(Strict):
    """The array is passed as a texture object, see :class:`TextureArgument`."""

    geometry: Geometry = "linear"
    filter: Literal["point", "linear"] = "point"
    read: Literal["element", "normalized"] = "element"
    normalized: bool = False
    address: AddressMode | Annotated[list[AddressMode], Field(min_length=1, max_length=3)] = "clamp"
    border: Annotated[list[Finite], Field(min_length=1, max_length=4)] = Field(default=[0.0])
    width: Size | None = None

    def sampler(self) -> Sampler:
        """How the texture is sampled. Axes without an address mode of their own get the last one
        given."""
        modes = self.address if isinstance(self.address, list) else [self.address]
        x, y, z = [*modes, *[modes[-1]] * 2][:3]
        red, green, blue, alpha = [*self.border, 0.0, 0.0, 0.0][:4]
        return Sampler(
            address=(x, y, z),
            filter=self.filter,
            read=self.read,
            normalized=self.normalized,
            border=(red, green, blue, alpha),
        )


class SurfaceModel(Strict):
    """The array is passed as a surface object."""

    geometry: Geometry = "2d"


class Shown(Strict):
    """Keys of an array that a kernel may get as a texture or surface object instead of a
    pointer."""

    texture: TextureModel | None = None
    surface: SurfaceModel | None = None

    @model_validator(mode="after")
    def _one_object(self) -> Shown:
        if self.texture is not None and self.surface is not None:
            raise ValueError("is either a texture or a surface")
        return self


class ValueArgument(Argument):
    """A scalar; text names a size."""

    value: bool | int | float | str


class ValuesArgument(Argument, Shown):
    """A short array written out."""

    values: Annotated[list[int | float], Field(min_length=1)]
    shape: Shape | None = None


class FillArgument(Argument, Shown):
    fill: bool | int | float
    shape: Shape


class UniformArgument(Argument, Shown):
    uniform: Uniform
    shape: Shape


class NormalArgument(Argument, Shown):
    normal: Normal
    shape: Shape


class IntegersArgument(Argument, Shown):
    integers: Integers
    shape: Shape


class ArangeArgument(Argument, Shown):
    arange: Arange
    shape: Shape


class GaussianArgument(Argument, Shown):
    gaussian: Gaussian


class FileArgument(Shown):
    """An array of a ``.npy`` file or a ``member`` of an ``.npz``; dtype and shape are checked."""

    name: Name
    file: str
    member: str | None = None
    dtype: DtypeName | None = None
    shape: Shape | None = None


class MatrixArgument(Argument, Shown):
    """A part of a sparse matrix in CSR form."""

    matrix: str
    part: Literal["indptr", "indices", "data"]


class DatasetArgument(Argument, Shown):
    """A part of a generated data set."""

    dataset: str
    part: str


class ImageArgument(Argument, Shown):
    """Grey levels 0 to 255 of an image, (height, width)."""

    image: str
    dtype: Literal["uint8", "float32"]


class UninitialisedArgument(Argument):
    """Memory as ``cudaMalloc`` leaves it."""

    uninitialised: Literal[True]
    shape: Shape


class PointerModel(Strict):
    """An element of another argument or buffer."""

    array: Name
    element: Size = 0


Target = Annotated[str, Field(pattern=r"^([A-Za-z_]\w*)?$")] | PointerModel
"""What a pointer leads to; empty text for null."""


class PointerArgument(Strict):
    """A pointer into another array."""

    name: Name
    pointer: Target


class PointersArgument(Strict):
    """A table of pointers."""

    name: Name
    pointers: Annotated[list[Target], Field(min_length=1)]


class FieldModel(Strict):
    """One member of a struct: a number, or a pointer."""

    name: Name
    dtype: DtypeName | None = None
    value: bool | int | float | str | None = None
    pointer: Target | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> FieldModel:
        if (self.pointer is None) == (self.value is None or self.dtype is None):
            raise ValueError("needs either dtype and value, or pointer")
        return self


class StructArgument(Strict):
    """A struct by value, its members in order and padded as C does."""

    name: Name
    struct: Annotated[list[FieldModel], Field(min_length=1)]


class StructsArgument(Strict):
    """An array of structs, padded as C does; a member's own ``shape`` makes it an array in them."""

    name: Name
    structs: Annotated[list[Member], Field(min_length=1)]
    shape: Shape

    @model_validator(mode="before")
    @classmethod
    def _shaped(cls, given: Any) -> Any:
        """Give every member the shape of its values over all structs."""
        if not isinstance(given, dict) or not isinstance(outer := listed(given.get("shape")), list):
            return given
        members = given.get("structs")
        if not isinstance(members, list) or not all(isinstance(m, dict) for m in members):
            return given
        shaped = [{**m, "shape": within(outer, m.get("shape", []))} for m in members]
        return {**given, "structs": shaped}


class StackArgument(Argument, Shown):
    """Arrays of one shape and type, one after another along a new first axis."""

    stack: Annotated[list[Member], Field(min_length=1)]
    shape: Shape

    @model_validator(mode="before")
    @classmethod
    def _alike(cls, given: Any) -> Any:
        """Give every entry the name, type and shape of the whole."""
        if not isinstance(given, dict) or not isinstance(given.get("stack"), list):
            return given
        common = {key: given[key] for key in ("name", "dtype", "shape") if key in given}
        entries = [common | m if isinstance(m, dict) else m for m in given["stack"]]
        return {**given, "stack": entries}


SOURCES: dict[str, type[BaseModel]] = {
    "value": ValueArgument,
    "values": ValuesArgument,
    "fill": FillArgument,
    "uniform": UniformArgument,
    "normal": NormalArgument,
    "integers": IntegersArgument,
    "arange": ArangeArgument,
    "gaussian": GaussianArgument,
    "file": FileArgument,
    "matrix": MatrixArgument,
    "dataset": DatasetArgument,
    "image": ImageArgument,
    "uninitialised": UninitialisedArgument,
    "pointer": PointerArgument,
    "pointers": PointersArgument,
    "struct": StructArgument,
    "structs": StructsArgument,
    "stack": StackArgument,
}
"""Keys that say where an argument's values come from."""


def _source(value: Any) -> str | None:
    """The one key that says where an argument's values come from; None where none or several do."""
    if isinstance(value, BaseModel):
        keys = [k for k, model in SOURCES.items() if isinstance(value, model)]
    else:
        keys = [k for k in SOURCES if isinstance(value, dict) and k in value]
    return keys[0] if len(keys) == 1 else None


AnyArgument = Annotated[
    Annotated[ValueArgument, Tag("value")]
    | Annotated[ValuesArgument, Tag("values")]
    | Annotated[FillArgument, Tag("fill")]
    | Annotated[UniformArgument, Tag("uniform")]
    | Annotated[NormalArgument, Tag("normal")]
    | Annotated[IntegersArgument, Tag("integers")]
    | Annotated[ArangeArgument, Tag("arange")]
    | Annotated[GaussianArgument, Tag("gaussian")]
    | Annotated[FileArgument, Tag("file")]
    | Annotated[MatrixArgument, Tag("matrix")]
    | Annotated[DatasetArgument, Tag("dataset")]
    | Annotated[ImageArgument, Tag("image")]
    | Annotated[UninitialisedArgument, Tag("uninitialised")]
    | Annotated[PointerArgument, Tag("pointer")]
    | Annotated[PointersArgument, Tag("pointers")]
    | Annotated[StructArgument, Tag("struct")]
    | Annotated[StructsArgument, Tag("structs")]
    | Annotated[StackArgument, Tag("stack")],
    Discriminator(
        _source,
        custom_error_type="source",
        custom_error_message=f"needs exactly one source of values: {', '.join(SOURCES)}",
    ),
]


_MEMBERS = ("values", "fill", "uniform", "normal", "integers", "arange", "file")
Member = Annotated[
    Annotated[ValuesArgument, Tag("values")]
    | Annotated[FillArgument, Tag("fill")]
    | Annotated[UniformArgument, Tag("uniform")]
    | Annotated[NormalArgument, Tag("normal")]
    | Annotated[IntegersArgument, Tag("integers")]
    | Annotated[ArangeArgument, Tag("arange")]
    | Annotated[FileArgument, Tag("file")],
    Discriminator(
        _source,
        custom_error_type="source",
        custom_error_message=f"needs exactly one source of values: {', '.join(_MEMBERS)}",
    ),
]
"""A member of each struct of an array, or an array of a stack."""


class SourceModel(Strict):
    """What the files of a case and of a program have in common: a source, how it is compiled, and
    values that kernels get."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$")] | None = None
    """Left out: the file's name without its suffix."""
    description: str = ""
    source: str | None = None
    code: str | None = None
    std: str = "c++17"
    flags: list[str] = Field(default_factory=list)
    nvrtc: str = DEFAULT_NVRTC
    include: list[str] = Field(default_factory=list)
    defines: dict[str, str | int | float | bool] = Field(default_factory=dict)
    sizes: dict[Name, Annotated[int, Field(ge=0, lt=2**63)]] = Field(default_factory=dict)
    parameters: dict[Name, Parameter] = Field(default_factory=dict)
    """What a tuner varies: each is a define of its name, and a size where it is a whole number."""
    matrices: dict[Name, AnyMatrix] = Field(default_factory=dict)
    images: dict[Name, ImageFile] = Field(default_factory=dict)
    datasets: dict[Name, AnyDataset] = Field(default_factory=dict)
    arguments: list[AnyArgument]
    constants: list[AnyArgument] = Field(default_factory=list)
    buffers: list[AnyArgument] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_source(self) -> SourceModel:
        if (self.source is None) == (self.code is None):
            raise ValueError("needs either source (a file) or code (the text)")
        return self

    @model_validator(mode="after")
    def _parameters(self) -> SourceModel:
        for other in ("sizes", "defines"):
            for name in self.parameters:
                if name in getattr(self, other):
                    raise ValueError(f"'{name}' is both in parameters and in {other}")
        return self


class ProfileModel(Strict):
    """What a launch is profiled by in place of a run of its own."""

    case: str | None = None
    """A case file with another launch of the kernel, on a smaller input."""
    accesses: str | None = None
    """A NumPy archive of recorded accesses."""

    @model_validator(mode="after")
    def _one(self) -> ProfileModel:
        if (self.case is None) == (self.accesses is None):
            raise ValueError("needs either case (a case file) or accesses (an .npz file)")
        return self


class CaseModel(SourceModel):
    """A whole case file."""

    kernel: str
    placement_parameters: list[Name] = Field(default_factory=list)
    """Tuning parameters that only say where data lives."""
    launch: LaunchModel
    profile: ProfileModel | None = None
    in_order: bool = False
    """Whether arguments go to the parameters in their order, and not by name."""

    @model_validator(mode="after")
    def _placement_parameters(self) -> CaseModel:
        unknown = [name for name in self.placement_parameters if name not in self.parameters]
        if unknown:
            raise ValueError(f"placement_parameters names '{unknown[0]}', which is no parameter")
        return self
