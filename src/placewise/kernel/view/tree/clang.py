"""The kernel's syntax tree, as libclang parses the user's CUDA C++.

The tree is copied into small ``Node`` objects: typed, with parents, and with byte offsets of the
user's own text. NVRTC has judged the source already, so errors here are only recorded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clang import cindex

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.frontends.nvrtc import compiler_version, device_source, header_paths
from placewise.kernel.host_code.host_code import DeviceSource
from placewise.kernel.source import DeclaredConstant
from placewise.kernel.view.declared_bytes import constant_bytes, static_shared_bytes
from placewise.kernel.view.tree.constants import declared_constants
from placewise.kernel.view.tree.deep_stack import with_deep_stack
from placewise.kernel.view.tree.included_kernel import IncludedKernelError
from placewise.kernel.view.tree.libclang import (
    INTEGERS,
    constant,
    library,
    operator,
    skipped_ranges,
)
from placewise.kernel.view.tree.macros import MacroUse, macro_uses
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import above_comment
from placewise.kernel.view.tree.prototypes import (
    NamedInstance,
    Prototype,
    named_instances,
    prototypes,
)
from placewise.kernel.view.tree.records import DeclaredRecord, declared_records
from placewise.kernel.view.tree.scalars import members_of, scalars_of
from placewise.kernel.view.tree.template import Substitution, base_name, substitute

_PREAMBLE = Path(__file__).with_name("preamble.h")
_HEADERS = Path(__file__).with_name("headers")
"""Headers that NVRTC has built in, and stand-ins for what the preamble declares."""
_KEEP_GOING = 0x200
"""``CXTranslationUnit_KeepGoing``: without it no template is instantiated after a header that is
missing, so that calls such as ``__ldg(a + i)`` stay unresolved."""
_ARRAYS = frozenset({"INCOMPLETEARRAY", "CONSTANTARRAY"})
_KNOWN_ARCHS = (30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)
"""Architectures of libclang 18 that CUDA 7.5 or later compiles for."""
_SIZED = INTEGERS | {
    "WCHAR", "CHAR16", "CHAR32", "INT128", "UINT128", "HALF", "FLOAT", "DOUBLE", "RECORD",
    "CONSTANTARRAY", "VECTOR", "POINTER",
}  # fmt: skip
"""Kinds of types that have a size; libclang 18 aborts on the type of a built-in function."""
DEEPEST = 400
"""Most levels of nesting: the analyses are recursive, and Python allows 1,000 frames."""
_FUNCTIONS = frozenset({"FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD"})


@dataclass(frozen=True, eq=False)
class ParsedKernel:
    """The definition of a kernel and what is known of its file."""

    text: bytes
    instance: str
    """The kernel's name with its template arguments."""
    function: Node
    body: Node
    body_last_line: int
    parameters: tuple[Node, ...]
    functions: tuple[Node, ...]
    """Functions with a body in the file, the kernel apart."""
    errors: tuple[tuple[int, str], ...]
    """(line, message) of everything clang did not understand in the file itself."""
    skipped: tuple[tuple[int, int], ...]
    """Ranges that the preprocessor left out."""
    signature_start: int
    prototypes: tuple[Prototype, ...]
    ambiguous: frozenset[str]
    """Names that are declared in several namespaces."""
    instances: tuple[NamedInstance, ...]
    """Instances of the kernel's template that the file names itself."""
    in_namespace: bool
    constant_bytes: int
    shared_bytes: int
    """Static shared memory of the kernel and the device functions of its file."""
    identifiers: tuple[tuple[str, int, int], ...]
    """(identifier, offset, line) for every identifier token of the body."""
    macros: tuple[MacroUse, ...]
    """Macros that the body uses."""
    records: tuple[DeclaredRecord, ...] = ()
    """The structs that parameters point to."""
    constants: tuple[DeclaredConstant, ...] = ()
    """``__constant__`` variables outside of functions."""

    @property
    def unread_line(self) -> int | None:
        """First line of the body that clang does not understand; None where there is none."""
        first, last = self.body.line, self.body_last_line
        return next((line for line, _ in self.errors if first <= line <= last), None)

    @property
    def redeclared(self) -> str | None:
        """Where the kernel is declared again: ``line 12``, or ``header.h:12`` of an included file;
        None where it is not."""
        return next((p.where for p in self.prototypes), None)

    def above(self, places: Iterable[int]) -> int:
        """Offset of the line above which a declaration is seen at all ``places``, which are offsets
        in the kernel or in other functions: where the first of these functions begins, or the
        comment above it."""
        places = tuple(places)
        starts = [f.start for f in self.functions if any(f.start <= p < f.end for p in places)]
        start = min([self.signature_start, *starts])
        return above_comment(self.text, self.text.rfind(b"\n", 0, start) + 1)


def parse_kernel(case: Case, lines: tuple[int, ...] = ()) -> ParsedKernel:
    """Parse the case's source and find the definition of its kernel.

    A template instance is parsed with the template's arguments in place of its header. ``lines``
    are the numbers that nodes give for the source's lines, where it was made from another. Raises
    UnsupportedError where there is no definition in the file itself.
    """

    def parse() -> ParsedKernel:
        # Without a record of the preprocessor's work, skipped ranges are not kept.
        reader, found = _read(case, cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        reader.lines = lines
        return reader.kernel(found)

    return with_deep_stack(parse)


@dataclass(frozen=True, eq=False)
class ParsedSignature:
    """The parameters of a kernel's definition, and the ``__constant__`` variables around it."""

    parameters: tuple[Node, ...]
    constants: tuple[DeclaredConstant, ...]


def parse_signature(case: Case) -> ParsedSignature:
    """What the kernel's arguments and constants must fit, without its body; raises as
    :func:`parse_kernel`."""

    def parse() -> ParsedSignature:
        reader, found = _read(case, cindex.TranslationUnit.PARSE_NONE)
        parameters = (c for c in found.get_children() if c.kind.name == "PARM_DECL")
        return ParsedSignature(
            tuple(reader.node(c, None) for c in parameters),
            declared_constants(reader.declarations, case, reader.offset),
        )

    return with_deep_stack(parse)


def _read(case: Case, options: int) -> tuple[_Reader, Any]:
    """Reader of the case's source, and the cursor of its kernel's definition."""
    source = device_source(case.source, case.filename, case.kernel, case.options)
    text = source.text.encode()
    unit = parse_source(case, source, text, options)
    declarations = list(_declarations(unit.cursor))
    found = _definition(declarations, case)
    substitution = Substitution.none(text)
    if found.kind.name == "FUNCTION_TEMPLATE":
        substitution = substitute(text, case.kernel, found.extent.start.offset, case.filename)
        unit = parse_source(case, source, substitution.text, options)
        declarations = list(_declarations(unit.cursor))
        found = _definition(declarations, case)
    return _Reader(case, unit, declarations, substitution), found


def parse_source(case: Case, source: DeviceSource, text: bytes, options: int) -> Any:
    """libclang's translation unit of ``text``, which stands for the case's source, with its
    options, headers and defines. Raises UnsupportedError where libclang makes none."""
    folder = case.path.parent if case.path else Path()
    number, arch = _arch(case.options.arch)
    major, minor = compiler_version(case.options.nvrtc).split(".")[:2]
    arguments = [
        "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-nostdinc", "-w",
        f"--cuda-gpu-arch={arch}", f"-D__CUDA_ARCH__={number * 10}",
        f"-std={_known_std(case.options.std)}",
        "-ferror-limit=0", "-D__CUDACC__", "-D__CUDACC_RTC__", "-D__NVCC__",
        f"-D__CUDACC_VER_MAJOR__={major}", f"-D__CUDACC_VER_MINOR__={minor}",
        "-include", str(_PREAMBLE),
        *(f"-D{name}={value}" for name, value in (*case.options.defines, *source.defines)),
        *(f"-I{path}" for path in (*case.options.include_paths, folder)),
        *(f"-isystem{path}" for path in (_HEADERS, *header_paths(case.options.nvrtc))),
        *(argument for name in source.preincludes for argument in ("-include", name)),
    ]  # fmt: skip
    try:
        return cindex.Index.create().parse(
            case.filename,
            arguments,
            unsaved_files=[
                (case.filename, text.decode()),
                *((str(path), header) for _, path, header in source.headers),
            ],
            options=options | _KEEP_GOING,
        )
    except cindex.TranslationUnitLoadError as error:
        raise UnsupportedError(
            "libclang cannot read the source", where=case.filename, hint=str(error)
        ) from error


def _arch(name: str) -> tuple[int, str]:
    """Number of an architecture, and the newest one that libclang 18 knows up to it."""
    number = int("".join(c for c in name if c.isdigit()))
    return number, f"sm_{max(k for k in _KNOWN_ARCHS if k <= max(number, _KNOWN_ARCHS[0]))}"


def _known_std(std: str) -> str:
    """libclang 18 calls the standard of 2023 and later by its working name."""
    return {"c++23": "c++2b", "c++26": "c++2b"}.get(std, std)


def _definition(declarations: list[Any], case: Case) -> Any:
    """The cursor of the definition of the case's kernel; raises UnsupportedError."""
    name = base_name(case.kernel)
    elsewhere = None
    for cursor in declarations:
        if cursor.kind.name not in _FUNCTIONS or cursor.spelling != name.rsplit("::", 1)[-1]:
            continue
        if not cursor.is_definition() or not _qualified(cursor).endswith(name):
            continue
        if _in_file(cursor, case.filename):
            return cursor
        elsewhere = cursor.location
    if elsewhere is not None:
        raise IncludedKernelError(
            f"kernel '{case.kernel}' is defined in an included file",
            where=f"{elsewhere.file}:{elsewhere.line}",
            hint="give that file as the case's source",
        )
    raise UnsupportedError(
        f"found no definition of kernel '{case.kernel}'",
        where=case.filename,
        hint="a kernel that a macro defines cannot be rewritten",
    )


def _declarations(cursor: Any) -> Iterator[Any]:
    """Declarations of the user's files. The headers of CUDA and of the preamble, which is marked
    as a system header, declare thousands that nobody asks for."""
    for child in cursor.get_children():
        if child.kind.name in ("NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL"):
            yield from _declarations(child)
        elif not child.location.is_in_system_header:
            yield child


def _qualified(cursor: Any) -> str:
    parts = [cursor.spelling]
    parent = cursor.semantic_parent
    while parent is not None and parent.kind.name in ("NAMESPACE", "STRUCT_DECL", "CLASS_DECL"):
        parts.append(parent.spelling)
        parent = parent.semantic_parent
    return "::".join(reversed([p for p in parts if p]))


def _ambiguous(declarations: list[Any]) -> frozenset[str]:
    scopes: dict[str, set[str]] = {}
    for outer in declarations:
        inner = outer.get_children() if outer.kind.name == "ENUM_DECL" else ()
        for one in (outer, *inner):
            scopes.setdefault(one.spelling, set()).add(_qualified(outer).rpartition("::")[0])
    return frozenset(name for name, found in scopes.items() if len(found) > 1)


def _is_parameter(cursor: Any, kind: str) -> bool:
    """Whether a cursor of an array's type is a function's parameter, names one, or reckons with
    one: libclang has such pointers as the array that the parameter was declared as."""
    if kind in ("PARM_DECL", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
        return True
    if kind in ("PAREN_EXPR", "UNARY_OPERATOR"):
        inner = next(iter(cursor.get_children()), None)
        if inner is None or inner.type.get_canonical().kind.name not in _ARRAYS:
            return False
        return _is_parameter(inner, inner.kind.name)
    named = cursor.referenced if kind in ("DECL_REF_EXPR", "UNEXPOSED_EXPR") else None
    return named is not None and named.kind.name == "PARM_DECL"


def _in_file(cursor: Any, filename: str) -> bool:
    return cursor.location.file is not None and cursor.location.file.name == filename


class _Reader:
    """Copies cursors of one translation unit into nodes."""

    def __init__(
        self, case: Case, unit: Any, declarations: list[Any], substitution: Substitution
    ) -> None:
        self.case = case
        self.unit = unit
        self.declarations = declarations
        self.substitution = substitution
        self.lines: tuple[int, ...] = ()
        """Numbers to give for the lines of the file; empty for their own."""

    def kernel(self, cursor: Any) -> ParsedKernel:
        """The kernel's definition, from its cursor."""
        function = self.node(cursor, None)
        body = next(c for c in function.children if c.kind == "COMPOUND_STMT")
        others = [d for d in self.declarations if d != cursor]
        own = [other for other in others if _in_file(other, self.case.filename)]
        functions = [o for o in own if o.kind.name in _FUNCTIONS and o.is_definition()]
        text, start = self.case.source.encode(), self.signature_start(cursor)
        instances = named_instances(text, self.case.kernel, start, body.end)
        return ParsedKernel(
            text=text,
            instance=self.case.kernel,
            function=function,
            body=body,
            body_last_line=cursor.extent.end.line,
            parameters=tuple(function.parameters),
            functions=tuple(self.node(other, None) for other in functions),
            errors=self.errors(),
            skipped=self.skipped(),
            signature_start=start,
            prototypes=(
                *prototypes(cursor, others, self.case.filename, self.offset),
                *(Prototype(f"line {i.line}", (), binds=True) for i in instances),
            ),
            ambiguous=_ambiguous(self.declarations),
            instances=instances,
            in_namespace="::" in _qualified(cursor),
            constant_bytes=constant_bytes(own),
            shared_bytes=static_shared_bytes(cursor, functions),
            identifiers=self.identifiers(cursor),
            macros=macro_uses(others, self.case.filename, body.start, body.end, self.offset),
            records=tuple(declared_records(cursor)),
            constants=declared_constants(others, self.case, self.offset),
        )

    def node(self, cursor: Any, parent: Node | None, depth: int = 0) -> Node:
        """A cursor and all below it as nodes; raises UnsupportedError where they nest too deep."""
        if depth > DEEPEST:
            raise UnsupportedError(
                f"an expression or statement is nested more than {DEEPEST} levels deep",
                where=f"{self.case.filename}:{cursor.location.line}",
                hint="split long sums, chains of else if, and nested blocks",
            )
        kind = cursor.kind.name
        extent = cursor.extent
        location = cursor.location
        inside = location.file is not None and location.file.name == self.case.filename
        referenced = cursor.referenced if "REF" in kind or kind == "CALL_EXPR" else None
        canonical = cursor.type.get_canonical()
        if canonical.kind.name in _ARRAYS and _is_parameter(cursor, kind):
            # ``float a[]`` as a parameter is a pointer.
            canonical = canonical.element_type
            spelling, type_kind, pointee = f"{canonical.spelling} *", "POINTER", canonical
        else:
            spelling, type_kind = canonical.spelling, canonical.kind.name
            pointee = canonical.get_pointee() if type_kind == "POINTER" else canonical
        made = Node(
            kind=kind,
            name=cursor.spelling,
            start=self.offset(extent.start) if inside else -1,
            end=self.offset(extent.end) if inside else -1,
            location=self.offset(location) if inside else -1,
            line=self.line(location) if inside else location.line,
            column=location.column,
            type=spelling,
            type_kind=type_kind,
            size=max(0, pointee.get_size()) if pointee.kind.name in _SIZED else 0,
            operator=operator(cursor, kind),
            value=constant(cursor, kind, canonical.kind.name),
            id=cursor.hash,
            target=referenced.hash if referenced is not None else 0,
            parent=parent,
            members=members_of(pointee) if kind == "PARM_DECL" else (),
            scalars=scalars_of(pointee) if kind == "PARM_DECL" else (),
        )
        made.children = [self.node(child, made, depth + 1) for child in cursor.get_children()]
        return made

    def line(self, location: Any) -> int:
        number = int(location.line)
        return self.lines[number - 1] if 0 < number <= len(self.lines) else number

    def offset(self, location: Any) -> int:
        """Offset where the text stands: of a macro's argument in the argument, of what a macro's
        body contributes at the macro's use."""
        found = ctypes.c_uint()
        library().clang_getFileLocation(location, None, None, None, ctypes.byref(found))
        return self.substitution.original(found.value)

    def errors(self) -> tuple[tuple[int, str], ...]:
        return tuple(
            (d.location.line, d.spelling)
            for d in self.unit.diagnostics
            if d.severity >= cindex.Diagnostic.Error
            and d.location.file is not None
            and d.location.file.name == self.case.filename
        )

    def skipped(self) -> tuple[tuple[int, int], ...]:
        ranges = skipped_ranges(self.unit, self.case.filename)
        return tuple((self.offset(start), self.offset(end)) for start, end in ranges)

    def signature_start(self, cursor: Any) -> int:
        """Where the definition starts, with its own ``extern "C"`` and template header."""
        start = cursor.extent.start.offset
        parent = cursor.lexical_parent
        if parent is not None and parent.kind.name in ("LINKAGE_SPEC", "UNEXPOSED_DECL"):
            before = self.substitution.text[parent.extent.start.offset : start]
            if b"{" not in before:
                start = parent.extent.start.offset
        if self.substitution.header_start is not None:
            return self.substitution.header_start
        return self.substitution.original(start)

    def identifiers(self, cursor: Any) -> tuple[tuple[str, int, int], ...]:
        # The definition itself may start in a macro such as __global__, its body never does.
        body = next(c for c in cursor.get_children() if c.kind.name == "COMPOUND_STMT")
        return tuple(
            (token.spelling, self.offset(token.extent.start), self.line(token.location))
            for token in body.get_tokens()
            if token.kind.name == "IDENTIFIER"
        )
