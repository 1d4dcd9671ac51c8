"""Writes the header with the host code, which prepares the arrays for a version and launches it.

The header is plain C++ 14 and calls only the CUDA runtime, so that it can be checked without a GPU.
Its functions return error codes of the runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from placewise.kernel.cases.case import Case
from placewise.kernel.source import Parameter, SourceView
from placewise.kernel.view.elements import texel
from placewise.rewriter.agnostic.coarse import CoarseVersion
from placewise.rewriter.agnostic.fine_grained import ChosenArray, FineGrained
from placewise.rewriter.agnostic.names import AgnosticNames
from placewise.rewriter.host import SHARED_WITHOUT_OPT_IN
from placewise.space import Way


class Best(Protocol):
    """The GPUs on which a version is the best form."""

    @property
    def best_on(self) -> tuple[str, ...]:
        """Names of machines."""

    @property
    def capabilities(self) -> tuple[int, ...]:
        """Compute capabilities of these machines, such as 86 for 8.6."""


def host_header(
    case: Case, view: SourceView, names: AgnosticNames, versions: tuple[CoarseVersion, ...],
    best: Sequence[Best], kernel: FineGrained, constant_bytes: int,
) -> str:  # fmt: skip
    """The header's text. ``best`` has an entry for each of ``versions``."""
    writer = _Header(case, view, names, versions, kernel, constant_bytes)
    lines = [
        *writer.opening(),
        *writer.types(),
        *writer.recommended(best),
        *writer.texture_maker(),
        *writer.version_preparation(),
        *writer.any_preparation(),
        *writer.preparation(),
        *writer.launch(),
        *writer.release(),
    ]
    return "\n".join(lines) + "\n"


class _Header:
    """Writes the parts of the header of one kernel."""

    def __init__(
        self, case: Case, view: SourceView, names: AgnosticNames,
        versions: tuple[CoarseVersion, ...], kernel: FineGrained, constant_bytes: int,
    ) -> None:  # fmt: skip
        self.case, self.view, self.names = case, view, names
        self.versions, self.kernel, self.constant_bytes = versions, kernel, constant_bytes
        self.p = names.prefix
        fine = {a.use.name: a.texture for a in kernel.arrays if a.texture is not None}
        textured = [*fine, *(array for v in versions for array in v.textures)]
        self.textures = {array: f"{array}_texture" for array in dict.fromkeys(textured)}
        constants = [a.use.name for a in kernel.arrays if a.space(Way.HOST_BUFFER) is not None]
        constants += [m.use.name for v in versions for m in v.members]
        order = [u.name for u in view.arrays]
        sized = {*self.textures, *constants}
        self.sized = [name for name in order if name in sized]

    def opening(self) -> list[str]:
        """Comment, guard and includes."""
        block = "x".join(str(n) for n in self.case.launch.block)
        return [
            f"// Host side of the placements of {self.names.kernel}, made by Placewise.",
            "//",
            f"//     {self.p}_arguments arguments = {{...}};  // device pointers and numbers",
            f"//     {self.p}_prepared prepared;",
            f"//     {self.p}_prepare(&prepared, {self.p}_recommended(86), nullptr, &arguments, 0, "
            "0);",
            f"//     {self.p}_launch(&prepared, grid, block, &arguments, 0);",
            f"//     {self.p}_release(&prepared);",
            "//",
            "// Prepare again when the data of arrays in constant memory have changed. One",
            "// preparation at a time holds the constant memory of all versions. Tiles in shared",
            f"// memory are made for blocks of {block} threads.",
            "#pragma once",
            "#include <stddef.h>",
            "#include <cuda_runtime.h>",
            "",
        ]

    def types(self) -> list[str]:
        """The enumeration of versions and the structs."""
        p = self.p
        lines = ["/// The forms of the kernel.", f"enum {p}_version {{",
                 f"    {p}_as_it_is,  // the kernel as it was"]  # fmt: skip
        for version in self.versions:
            where = ", ".join(f"{a} in {s}" for a, s in version.placement)
            best = f"; best on {', '.join(version.machines)}" if version.machines else ""
            lines.append(f"    {p}_version_{version.number},  // {where}{best}")
        lines += [
            f"    {p}_any_placement  // every array where a {p}_placement says",
            "};",
            "",
            f"/// Where {self.names.any_kernel} has its arrays.",
            f"struct {p}_placement {{",
        ]
        for one in self.kernel.arrays:
            may = ", ".join(s.name for s in one.spaces)
            first = self.names.space(one.spaces[0].name)
            name = one.use.name
            lines.append(f"    {self.names.memory_type} {name} = {first};  // {may}")
        lines += ["};", "", "/// What the kernel takes: device pointers and numbers.",
                  f"struct {p}_arguments {{"]  # fmt: skip
        lines += [f"    {_field(q)};" for q in self.view.parameters]
        lines += [
            f"    size_t {name}_elements = {self.view.array(name).elements};" for name in self.sized
        ]
        lines += ["};", "", "/// A version made ready to launch.", f"struct {p}_prepared {{",
                  f"    {p}_version version;",
                  "    size_t shared_bytes;  // dynamic shared memory of a block",
                  "    bool tiled;  // an array of the fine-grained kernel has tiles"]  # fmt: skip
        lines += [f"    cudaTextureObject_t {name};" for name in self.textures.values()]
        return [*lines, "};", ""]

    def recommended(self, best: Sequence[Best]) -> list[str]:
        """The function that names the version for a GPU."""
        p = self.p
        lines = [
            "/// The version that was best for GPUs of a compute capability (86 for 8.6), else the "
            "kernel as it is.",
            f"static inline {p}_version {p}_recommended(int compute_capability) {{",
            "    switch (compute_capability) {",
        ]
        seen: set[int] = set()
        for number, one in enumerate(best, start=1):
            for capability in one.capabilities:
                if capability not in seen:
                    seen.add(capability)
                    lines.append(f"        case {capability}: return {p}_version_{number};")
        return [*lines, f"        default: return {p}_as_it_is;", "    }", "}", ""]

    def texture_maker(self) -> list[str]:
        """The function that makes a texture object over an array in linear memory."""
        if not self.textures:
            return []
        return [
            f"static inline cudaError_t {self.p}_make_texture(cudaTextureObject_t *made, "
            "const void *data,",
            "        cudaChannelFormatDesc texel, size_t bytes) {",
            "    cudaResourceDesc memory = {};",
            "    memory.resType = cudaResourceTypeLinear;",
            "    memory.res.linear.devPtr = const_cast<void *>(data);",
            "    memory.res.linear.desc = texel;",
            "    memory.res.linear.sizeInBytes = bytes;",
            "    cudaTextureDesc reads = {};",
            "    reads.readMode = cudaReadModeElementType;",
            "    return cudaCreateTextureObject(made, &memory, &reads, nullptr);",
            "}",
            "",
        ]

    def version_preparation(self) -> list[str]:
        """A function for each version that prepares its constant memory, textures and shared
        memory."""
        lines: list[str] = []
        for version in self.versions:
            n = version.number
            lines += [
                f"static inline cudaError_t {self.p}_prepare_{n}({self.p}_prepared *p,",
                f"        const {self.p}_arguments *a, size_t shared_bytes, cudaStream_t stream) "
                "{",
                "    cudaError_t e = cudaSuccess;",
            ]
            for member in version.members:
                lines += self._copied(member.use.name, str(member.offset), member.use.elements)
            for array in version.textures:
                lines += [f"    {line}" for line in self._textured(array)]
            dynamic = version.draft.shared_bytes
            own = self.case.launch.shared_bytes
            if dynamic != own:
                lines.append(f"    if (shared_bytes > {own}) return cudaErrorInvalidValue;")
                lines += self._opt_in(f"{version.kernel}{self.names.arguments}", str(dynamic))
            lines += [
                f"    p->shared_bytes = {dynamic if dynamic != own else 'shared_bytes'};",
                "    (void)a, (void)shared_bytes, (void)stream;",
                "    return e;",
                "}",
                "",
            ]
        return lines

    def any_preparation(self) -> list[str]:
        """The function that prepares the fine-grained kernel (Chen et al. 2017, Fig. 6b)."""
        p, names, arrays = self.p, self.names, self.kernel.arrays
        lines = [
            f"static inline cudaError_t {p}_prepare_any({p}_prepared *p, const {p}_placement "
            "*where,",
            f"        const {p}_arguments *a, size_t shared_bytes, cudaStream_t stream) {{",
            "    cudaError_t e = cudaSuccess;",
            f"    int memory_of[{len(arrays)}];",
            f"    unsigned int offset_of[{len(arrays)}] = {{}};",
            "    size_t tiles = (shared_bytes + 15) / 16 * 16;",
        ]
        if self.kernel.uses_constants:
            lines.append(f"    size_t constant = 0, constant_room = {self.constant_bytes};")
        for number, one in enumerate(arrays):
            lines += [f"    memory_of[{number}] = where->{one.use.name};",
                      f"    switch (where->{one.use.name}) {{"]  # fmt: skip
            for space in one.spaces:
                lines.append(f"        case {names.space(space.name)}:")
                lines += [f"            {line}" for line in self._any_case(number, one, space.way)]
                lines.append("            break;")
            lines += ["        default: return cudaErrorInvalidValue;", "    }"]
        lines += self._upload(names.memory_of, "memory_of")
        if self.kernel.uses_offsets:
            lines += self._upload(names.offset_of, "offset_of")
        lines.append("    p->shared_bytes = p->tiled ? tiles : shared_bytes;")
        if any(a.tile_bytes for a in arrays):
            kernel = f"{self.kernel.kernel}{self.names.arguments}"
            lines += self._opt_in(kernel, "(int)p->shared_bytes")
        return [*lines, "    (void)a;", "    return e;", "}", ""]

    def _any_case(self, number: int, one: ChosenArray, way: Way) -> list[str]:
        name = one.use.name
        size = f"a->{name}_elements * sizeof(*a->{name})"
        match way:
            case Way.BINDING:
                return self._textured(name)
            case Way.HOST_BUFFER:
                return [
                    f"if (constant + {size} > constant_room) return cudaErrorInvalidValue;",
                    f"e = cudaMemcpyToSymbolAsync({self.names.constants}, a->{name}, {size}, "
                    "constant,",
                    "    cudaMemcpyDeviceToDevice, stream);",
                    "if (e != cudaSuccess) return e;",
                    f"offset_of[{number}] = (unsigned int)constant;",
                    f"constant = (constant + {size} + 15) / 16 * 16;",
                ]
            case Way.KERNEL_BUFFER:
                return [
                    f"offset_of[{number}] = (unsigned int)tiles;",
                    f"tiles += {one.tile_bytes};",
                    "p->tiled = true;",
                ]
            case _:
                return []

    def _upload(self, symbol: str, what: str) -> list[str]:
        return [
            f"    e = cudaMemcpyToSymbolAsync({symbol}, {what}, sizeof({what}), 0,",
            "        cudaMemcpyHostToDevice, stream);",
            "    if (e != cudaSuccess) return e;",
        ]

    def _copied(self, array: str, offset: str, elements: int) -> list[str]:
        return [
            f"    if (a->{array}_elements > {elements}) return cudaErrorInvalidValue;",
            f"    e = cudaMemcpyToSymbolAsync({self.names.constants}, a->{array},",
            f"        a->{array}_elements * sizeof(*a->{array}), {offset}, "
            "cudaMemcpyDeviceToDevice, stream);",
            "    if (e != cudaSuccess) return e;",
        ]

    def _textured(self, array: str) -> list[str]:
        use = self.view.array(array)
        found = texel(use.parameter.element_type)
        kind = found[0] if found else use.parameter.element_type
        return [
            f"e = {self.p}_make_texture(&p->{self.textures[array]}, a->{array}, "
            f"cudaCreateChannelDesc<{kind}>(),",
            f"    a->{array}_elements * sizeof(*a->{array}));",
            "if (e != cudaSuccess) return e;",
        ]

    def _opt_in(self, kernel: str, size: str) -> list[str]:
        return [
            f"    if ({size} > {SHARED_WITHOUT_OPT_IN}) {{",
            f"        e = cudaFuncSetAttribute((const void *){kernel},",
            f"            cudaFuncAttributeMaxDynamicSharedMemorySize, {size});",
            "        if (e != cudaSuccess) return e;",
            "    }",
        ]

    def preparation(self) -> list[str]:
        """The function that prepares any version."""
        p = self.p
        lines = [
            f"static inline cudaError_t {p}_release({p}_prepared *p);",
            "",
            "/// Make a version ready: copies to constant memory, texture objects, attributes. "
            "`where` is for",
            f"/// {p}_any_placement only; `shared_bytes` is dynamic shared memory of the kernel's "
            "own. After an error",
            "/// nothing needs to be released.",
            f"static inline cudaError_t {p}_prepare({p}_prepared *p, {p}_version version, "
            f"const {p}_placement *where,",
            f"        const {p}_arguments *a, size_t shared_bytes, cudaStream_t stream) {{",
            f"    *p = {p}_prepared();",
            "    p->version = version;",
            "    p->shared_bytes = shared_bytes;",
            "    cudaError_t e = cudaErrorInvalidValue;",
            "    switch (version) {",
            f"        case {p}_as_it_is: e = cudaSuccess; break;",
        ]
        lines += [
            f"        case {p}_version_{v.number}: e = {p}_prepare_{v.number}(p, a, shared_bytes, "
            "stream); break;"
            for v in self.versions
        ]
        return [
            *lines,
            f"        case {p}_any_placement:",
            f"            if (where) e = {p}_prepare_any(p, where, a, shared_bytes, stream);",
            "            break;",
            "    }",
            f"    if (e != cudaSuccess) {p}_release(p);",
            "    return e;",
            "}",
            "",
        ]

    def launch(self) -> list[str]:
        """The function that launches what was prepared."""
        p = self.p
        lines = [
            "/// Launch what was prepared. Returns cudaErrorInvalidConfiguration where tiles were",
            "/// made for another launch.",
            f"static inline cudaError_t {p}_launch(const {p}_prepared *p, dim3 grid, dim3 block,",
            f"        const {p}_arguments *a, cudaStream_t stream) {{",
            "    switch (p->version) {",
        ]
        own = [q.name for q in self.view.parameters]
        lines += self._launched(f"{p}_as_it_is", self.names.kernel, own, "")
        for version in self.versions:
            back = {texture: array for array, texture in version.textures.items()}
            passed = [self.textures[back[n]] if n in back else n for n in version.passed]
            unlike = _unlike(tuple(version.draft.checks.items()))
            lines += self._launched(f"{p}_version_{version.number}", version.kernel, passed, unlike)
        fine = {a.texture: a.use.name for a in self.kernel.arrays if a.texture is not None}
        names = [a.name for a in self.kernel.arguments]
        passed = [self.textures[fine[n]] if n in fine else n for n in names]
        unlike = _unlike(self.kernel.checks)
        unlike = f"p->tiled && ({unlike})" if unlike else ""
        lines += self._launched(f"{p}_any_placement", self.kernel.kernel, passed, unlike)
        return [*lines, "    }", "    return cudaErrorInvalidValue;", "}", ""]

    def _launched(self, version: str, kernel: str, passed: list[str], unlike: str) -> list[str]:
        held = set(self.textures.values())
        values = [f"(void *)&{'p' if n in held else 'a'}->{n}" for n in passed]
        values = values or ["nullptr"]
        return [
            f"        case {version}: {{",
            *(
                [f"            if ({unlike}) return cudaErrorInvalidConfiguration;"]
                if unlike
                else []
            ),
            "            void *passed[] = {",
            *(f"                {value}," for value in values),
            "            };",
            f"            return cudaLaunchKernel((const void *){kernel}{self.names.arguments}, "
            "grid, block, passed,",
            "                p->shared_bytes, stream);",
            "        }",
        ]

    def release(self) -> list[str]:
        """The function that destroys the texture objects."""
        p = self.p
        lines = [
            "/// Give back what was prepared.",
            f"static inline cudaError_t {p}_release({p}_prepared *p) {{",
            "    cudaError_t first = cudaSuccess;",
        ]
        for name in self.textures.values():
            lines += [
                f"    if (p->{name}) {{",
                f"        const cudaError_t e = cudaDestroyTextureObject(p->{name});",
                "        if (first == cudaSuccess) first = e;",
                f"        p->{name} = 0;",
                "    }",
            ]
        if not self.textures:
            lines.append("    (void)p;")
        return [*lines, "    return first;", "}"]


def _unlike(checks: tuple[tuple[str, int], ...]) -> str:
    """The condition, in host code, that a launch differs from the one that tiles were made for."""
    places = {"blockDim": "block", "gridDim": "grid"}
    parts = []
    for name, value in checks:
        what, dot, axis = name.partition(".")
        held = f"{places[what]}.{axis}" if dot and what in places else f"a->{name}"
        parts.append(f"(long long){held} != {value}")
    return " || ".join(parts)


def _field(parameter: Parameter) -> str:
    """Declaration of a member of the arguments struct, without ``restrict`` and ``const`` of the
    member itself."""
    text = parameter.type_text.replace("__restrict__", "").replace("__restrict", "")
    text = text.replace("restrict", "").strip()
    if parameter.is_pointer:
        text = text.removesuffix("const").strip()
        return f"{text}{parameter.name}" if text.endswith("*") else f"{text} {parameter.name}"
    return f"{text.removeprefix('const ').strip()} {parameter.name}"
