"""Sources with host code beside the kernel, made fit for a compiler of device code.

Ordinary ``.cu`` files hold ``main``, launchers and host variables; NVRTC refuses them. What it
refuses and no kernel can need is replaced by spaces, so that every offset, line and column of the
rest stays what it was. The compiler decides: only declarations that it reports, and that carry no
execution space of the device, are left out, until it accepts the rest or reports something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.source_file import DEVICE_CONSTEXPR, SourceFile, own_files
from placewise.kernel.host_code.declarations import Declaration, walk
from placewise.kernel.host_code.dialect import Dialect
from placewise.kernel.host_code.earlier_search import EarlierSearch, leave_out_again, places
from placewise.kernel.host_code.header_types import NAMESPACE, STD, UNDEFINED, headers_of_types
from placewise.kernel.host_code.hints import hint_on
from placewise.kernel.host_code.includes import Include, is_host_only, leads_to, resolve
from placewise.kernel.host_code.known_headers import (
    FEW_HEADERS,
    absent_headers,
    cuda_headers,
    is_among,
    may_limit_headers,
    version_macro,
)
from placewise.kernel.host_code.macros import definitions, standing_for
from placewise.kernel.host_code.tokens import tokens

FULL_LIBRARY = "PLACEWISE_FULL_STD"
"""Macro that makes the headers in ``headers/`` include CUDA's own C++ library, all of it."""

_WHOLE_CUB, _CUB = "cub/cub.cuh", "placewise_cub.h"
"""CUB as programs include it, which NVRTC refuses, and the header in ``headers/`` with what of it
device code can use."""
IMPLICIT_HEADER = "placewise_implicit.h"
"""Header in ``headers/`` that comes before a source with host code, as nvcc has it."""
_DEVICE_BY_DEFAULT = "device-as-default-execution-space"
"""Option by which functions without an execution space are the device's."""
_NVCC = "__NVCC__"
"""Macro by which a source asks whether nvcc compiles it; NVRTC does not define it."""
_PLATFORM = (("__linux__", "1"), ("__unix__", "1"), ("__x86_64__", "1"))
"""Macros by which host code asks where it is compiled."""

_DEVICE = frozenset({"__device__", "__global__", "__constant__", "__shared__", "__managed__"})
MISSING_HEADER = re.compile(r'cannot open source file "([^"]+)"')
"""What NVRTC says of a header that it does not find; its name is the group."""
_WORD = re.compile(r"\w+")
_HOST_FUNCTION = "without execution space annotations"
_OF_DEVICE = re.compile(r"device|global|kernel|cuda|cccl|cub_", re.IGNORECASE)
"""Words that may be macros for an execution space, of a header that is not the user's."""
_USES_STD = re.compile(r"\busing\s+(?:namespace\s+std\b|std::)")


@dataclass(frozen=True)
class SourceError:
    """One error of the compiler; ``column`` counts from 0, None where it is not known."""

    file: str
    line: int
    column: int | None
    text: str


@dataclass(frozen=True)
class DeviceSource:
    """What the compiler gets in place of a source."""

    text: str
    """As long as the source in UTF-8, with the same lines."""
    headers: tuple[tuple[str, Path, str], ...] = ()
    """(name in the directive, file, text) of the user's included files where one was changed."""
    defines: tuple[tuple[str, str], ...] = ()
    preincludes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Further options of NVRTC."""
    left_out: tuple[str, ...] = ()
    """Names of the functions of the source that were left out."""


class HostCode:
    """The search for what to leave out of one source; see :meth:`leave_out`."""

    def __init__(
        self, source: str, filename: str, kernels: Sequence[str], options: CompileOptions
    ) -> None:
        self._options = options
        self._wanted = {
            re.sub(r"<.*", "", kernel, flags=re.DOTALL).rsplit("::", 1)[-1].strip()
            for kernel in kernels
        }
        self._paths = (*options.include_paths, Path(filename).parent)
        self._main = SourceFile(Path(filename).resolve(), filename, source)
        self._files = own_files(self._main, self._paths)
        macros = definitions([f.text for f in self._files], options.defines)
        self._device_words = standing_for(_DEVICE, macros)
        self._kernel_words = standing_for({"__global__"}, macros)
        self._asks_for_nvcc = any(
            t.kind == "directive" and _NVCC in t.text for f in self._files for t in tokens(f.text)
        )
        self.full_library = False
        self._platform = False
        self._few_headers = may_limit_headers(self._files)
        self._dialect = Dialect(self._files)
        self._further: list[str] = []
        """Headers that come before the source besides the implicit one."""
        self._without_std: list[tuple[SourceFile, Declaration]] = []
        """What was left out for want of the C++ library, whether the host's or not."""
        self._refused: dict[str, str] = {}
        """Headers of others that the compiler refused, and why."""
        for file in self._files:
            file.left_out += self._certain_host_code(file)
        absent, certain = absent_headers(self._files, (*self._paths, *cuda_headers(options.nvrtc)))
        for file, include in absent:
            file.drop_includes([include])
        if certain:
            self._leave_out_unprovided()
        of_device = any(_DEVICE_BY_DEFAULT in flag for flag in options.flags)
        self.is_sure_to_be_refused = not of_device and any(
            d.kind == "function" and "template" not in d.words and self._main.is_unconditional(d)
            for d in self._main.left_out
        )
        """Whether it defines a function for the host, under no condition."""

    def found(self) -> EarlierSearch | None:
        """What this search has decided, for :meth:`begin_with`; None where macros were moved."""
        if any(f.moved or f.blanked for f in self._files):
            return None
        none = frozenset[tuple[str, str]]()
        return EarlierSearch(
            left_out=none.union(*(places(f, f.left_out) for f in self._files)),
            annotated=none.union(*(places(f, f.annotated) for f in self._files)),
            dropped_includes=frozenset(
                (f.name, i.name) for f in self._files for i in f.dropped_includes
            ),
            further=tuple(self._further),
            full_library=self.full_library,
            platform=self._platform,
            few_headers=self._few_headers,
            dialect=self._dialect.taken,
        )

    def begin_with(self, earlier: EarlierSearch) -> None:
        """Begin with what was found in another version of this source."""
        leave_out_again(self._files, earlier, self._wanted)
        self._further = list(earlier.further)
        self.full_library, self._platform = earlier.full_library, earlier.platform
        self._few_headers = earlier.few_headers
        self._dialect.begin_with(earlier.dialect)

    def untouched(self) -> DeviceSource:
        """The source with all its host code."""
        return DeviceSource(self._main.text, defines=self._group_defines())

    def _group_defines(self) -> tuple[tuple[str, str], ...]:
        return ((FEW_HEADERS, "1"),) if self._few_headers else ()

    def device_source(self) -> DeviceSource:
        """The source as it is to be compiled now."""
        changed = any(f.changed for f in self._files[1:])
        defines = [(DEVICE_CONSTEXPR, "constexpr __host__ __device__"), *self._group_defines()]
        if self.full_library:
            defines.append((FULL_LIBRARY, "1"))
        if self._platform:
            defines += _PLATFORM
        if self._asks_for_nvcc:
            defines.append((_NVCC, "1"))
        defines += version_macro(self._files, self._options)
        defines += self._dialect.defines
        left_out = sorted(self._main.left_out, key=lambda d: d.start)
        names = [
            _qualified(d)
            for d in left_out
            if d.kind == "function" and d.name and not any(c in left_out for c in _classes(d))
        ]
        headers = [
            (f.name, f.path, self._named_before(f) or f.device_text())
            for f in self._files[1:]
            if changed
        ]
        for file in self._files:
            headers += [(name, file.path.parent / name, text) for _, name, text in file.moved]
        return DeviceSource(
            text=self._main.device_text(),
            headers=tuple(headers),
            defines=tuple(defines),
            preincludes=(IMPLICIT_HEADER, *self._further, *self._dialect.headers),
            flags=tuple(self._dialect.flags),
            left_out=tuple(dict.fromkeys(names)),
        )

    def _named_before(self, file: SourceFile) -> str:
        """An ``#include`` of the first name of a file that is included by several, so that
        ``#pragma once`` works; empty for the file's first name itself."""
        first = next(f for f in self._files if f.path == file.path)
        return "" if first is file else f'#include "{first.name}"\n'

    def hint(self, errors: Iterable[SourceError]) -> str | None:
        """What to do where one of ``errors`` misses something that was left out, or may do so, or
        what NVRTC does not have."""
        return hint_on([e.text for e in errors], self._files, self._refused)

    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the source and the user's included files define."""
        return tuple(
            dict.fromkeys(
                d.name
                for f in self._files
                for d in walk(f.declarations)
                if d.kind == "function" and self._is_kernel(d)
            )
        )

    def leave_out(self, errors: Iterable[SourceError]) -> bool:
        """Leave out what the compiler's ``errors`` on :meth:`device_source` are about.

        Without errors that have a place (the compiler's later stages tell none), leave out what the
        kernels do not need. Returns False where nothing can be left out.
        """
        errors = tuple(errors)
        # Done first, because code that mentions an unknown type looks like host code.
        if self._take_types(errors) or self._take_cub(errors):
            return True
        left_out = sum(self._leave_out_host_code(e) for e in errors)
        if self._leave_out_headers(errors) or left_out:
            return True
        if self._dialect.take([e.text for e in errors], self._files):
            return True
        if self._take_platform(errors) or self._take_group_headers():
            return True
        if self._take_full_library(errors):
            return True
        return sum(self._leave_out_unused(e) for e in errors) > 0 or self._leave_out_unreachable()

    def _certain_host_code(self, file: SourceFile) -> list[Declaration]:
        """Functions of namespace scope that NVRTC is sure to refuse: dropping them at once saves
        rounds of compiling."""
        return [
            d
            for d in file.declarations
            if d.callable
            # A constant or a type may be declared with parentheses, too.
            and (d.kind == "function" or not d.words & {"const", "typedef", "using"})
            and d.constexpr_at is None
            and not self._is_device(d)
            and not any(_OF_DEVICE.search(word) for word in d.words - {d.name})
        ]

    def _leave_out_host_code(self, error: SourceError) -> bool:
        file, found = self._find(error)
        if file is None or found is None or found in file.left_out:
            return False
        if self._is_device(found):
            return False
        is_function = found.callable
        if _HOST_FUNCTION in error.text and found.constexpr_at is not None:
            return file.annotate(found)
        # Data members and virtual functions shape the objects of their class: all of it or nothing.
        while found.parent is not None and (not is_function or "virtual" in found.words):
            found, is_function = found.parent, False
        if found.torn or any(self._is_device(d) for d in walk([found])):
            return False
        if STD.search(error.text) and not found.callable and not self.full_library:
            self._without_std.append((file, found))
        return file.drop(found)

    def _leave_out_headers(self, errors: tuple[SourceError, ...]) -> bool:
        """Leave out directives of host headers that are missing or that NVRTC cannot read."""
        missing = any(is_host_only(m[1]) for e in errors if (m := MISSING_HEADER.search(e.text)))
        refused = {e.file: e.text for e in errors if self._file(e) is None}
        self._refused |= refused
        unreadable = set(refused)
        left_out = self._leave_out_unprovided() if missing else False
        for file in self._files:
            others = [i for i in file.includes if not self._is_own(file, i)]
            refused_ones = [
                i for i in others
                if is_among(i.name, unreadable) or self._leads_to(file, i, unreadable)
            ]  # fmt: skip
            left_out = file.drop_includes(refused_ones) or left_out
        return left_out

    def _leads_to(self, file: SourceFile, include: Include, unreadable: set[str]) -> bool:
        """Whether a host header, which need not be left out itself, includes one of the files."""
        if not is_host_only(include.name):
            return False
        reached = leads_to(include, file.path.parent, self._paths)
        return any(Path(name).resolve() in reached for name in unreadable)

    def _leave_out_unprovided(self) -> bool:
        """Leave out directives of host headers that no path of the user's provides."""
        return (
            sum(
                f.drop_includes([i for i in f.includes if self._is_unprovided(f, i)])
                for f in self._files
            )
            > 0
        )

    def _is_unprovided(self, file: SourceFile, include: Include) -> bool:
        return is_host_only(include.name) and not self._resolve(file, include)

    def _is_own(self, file: SourceFile, include: Include) -> bool:
        return self._resolve(file, include) in {f.path for f in self._files}

    def _resolve(self, file: SourceFile, include: Include) -> Path | None:
        return resolve(include, file.path.parent, self._paths)

    def _take_group_headers(self) -> bool:
        few, self._few_headers = self._few_headers, False
        return few

    def _take_platform(self, errors: tuple[SourceError, ...]) -> bool:
        if self._platform or not any("#error" in e.text for e in errors):
            return False
        self._platform = True
        return True

    def _take_types(self, errors: tuple[SourceError, ...]) -> bool:
        told = [e.text for e in errors]
        return any(self._take(h) for h in headers_of_types(told, [f.text for f in self._files]))

    def _take_cub(self, errors: tuple[SourceError, ...]) -> bool:
        dropped = any(i.name == _WHOLE_CUB for f in self._files for i in f.dropped_includes)
        return dropped and any(NAMESPACE in e.text for e in errors) and self._take(_CUB)

    def _take(self, header: str) -> bool:
        if header in self._further:
            return False
        self._further.append(header)
        return True

    def _take_full_library(self, errors: tuple[SourceError, ...]) -> bool:
        names_std = any(_USES_STD.search(f.text) for f in self._files)
        left_out = {d.name for _, d in self._without_std}
        missed = any(
            STD.search(e.text)
            or ((m := UNDEFINED.search(e.text)) and (names_std or m[1] in left_out))
            for e in errors
        )
        if self.full_library or not missed:
            return False
        self.full_library = True
        undefined = {m[1] for e in errors if (m := UNDEFINED.search(e.text))}
        for file, declaration in self._without_std:
            if declaration.name in undefined:
                file.left_out.remove(declaration)
        return True

    def _leave_out_unused(self, error: SourceError) -> bool:
        """Leave out other kernels, and device functions that nothing mentions any more."""
        file, found = self._find(error)
        if file is None or found is None or found.kind != "function" or found in file.left_out:
            return False
        if found.name in self._wanted or not found.name:
            return False
        mentions = sum(
            token.text == found.name
            for f in self._files
            for token in tokens(f.device_text())
            if token.kind == "word"
        )
        inside = sum(t.text == found.name for t in tokens(file.text[found.start : found.end]))
        return mentions <= inside and file.drop(found)

    def _leave_out_unreachable(self) -> bool:
        """Leave out functions that no macro mentions and that the kernels asked for do not lead to
        by way of names."""
        named: dict[str, list[tuple[SourceFile, Declaration]]] = {}
        mentioned = set(self._wanted)
        for file in self._files:
            droppable = [d for d in file.declarations if _is_called_by_name(d)]
            for declaration in droppable:
                if declaration not in file.left_out:
                    named.setdefault(declaration.name, []).append((file, declaration))
            without = [*file.left_out, *droppable]
            for token in tokens(file.text):
                inside = any(d.start <= token.start < d.end for d in without)
                if not inside or token.kind == "directive":
                    mentioned.update(_WORD.findall(token.text))
        reached: set[str] = set()
        while new := (mentioned & named.keys()) - reached:
            reached |= new
            for file, declaration in (found for name in new for found in named[name]):
                mentioned.update(_WORD.findall(file.text[declaration.start : declaration.end]))
        return (
            sum(
                file.drop(declaration)
                for name in named.keys() - reached
                for file, declaration in named[name]
            )
            > 0
        )

    def _find(self, error: SourceError) -> tuple[SourceFile | None, Declaration | None]:
        file = self._file(error)
        return file, file.at(error.line, error.column) if file else None

    def _file(self, error: SourceError) -> SourceFile | None:
        """The user's file that an error is in."""
        for file in self._files:
            if error.file == file.name or Path(error.file).resolve() == file.path:
                return file
        return None

    def _is_kernel(self, declaration: Declaration) -> bool:
        return bool(declaration.words & self._kernel_words)

    def _is_device(self, declaration: Declaration) -> bool:
        return bool(declaration.words & self._device_words)


def _classes(declaration: Declaration) -> list[Declaration]:
    """The classes around a member, the outermost first."""
    if declaration.parent is None:
        return []
    return [*_classes(declaration.parent), declaration.parent]


def _qualified(declaration: Declaration) -> str:
    return "::".join([*(c.name for c in _classes(declaration)), declaration.spelling])


def _is_called_by_name(declaration: Declaration) -> bool:
    """Whether a function can be called only where its name stands in the text."""
    return (
        declaration.callable
        and declaration.name.isidentifier()
        and not declaration.words & {"operator", "const", "typedef", "using", "constexpr"}
        and declaration.name not in ("begin", "end", "get")
    )
