"""CUDA C++ to PTX and machine-code resources with NVRTC, which needs neither a driver nor a GPU."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from placewise.errors import CaseError, CompileError
from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.host_code.earlier_search import EarlierSearch
from placewise.kernel.host_code.host_code import MISSING_HEADER, DeviceSource, HostCode, SourceError
from placewise.kernel.host_code.includes import folder_with
from placewise.kernel.host_code.known_headers import cuda_headers
from placewise.kernel.kernel import Kernel
from placewise.kernel.toolchain import (
    DEFAULT_NVRTC,
    Compilation,
    CompilerCrashError,
    nvrtc_library,
    spills_of,
    toolkit,
)

_LOCATED_ERROR = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error[^:\n]*: (?P<text>.*)$"
    r"(?:\n  (?P<code>.*)\n(?P<caret>[ \t]*)\^)?",
    re.M,
)
"""One error of NVRTC's log, with the line of code that it shows and the mark under the column."""
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '(?P<name>[^']+)'")
_NAME_FILE = "__nv_name_map"
_ENTRY = re.compile(r"\.entry (\w+)\(")
_REMEMBERED = 64
"""Most sources for which it is remembered what was left out of them."""


def compile_kernel(source: str, filename: str, kernel: str, options: CompileOptions) -> Kernel:
    """Compile ``source`` and pick the entry ``kernel``.

    Raises CompileError with the first error's file and line, CaseError for an unknown kernel or
    an include path that does not exist.
    """
    return compile_module(source, filename, (kernel,), options)[0]


def compile_module(
    source: str, filename: str, kernels: Sequence[str], options: CompileOptions
) -> tuple[Kernel, ...]:
    """Compile ``source`` once and pick the entries ``kernels``.

    All have the same PTX and machine code, so they share the module's variables. Raises
    CompileError with the first error's file and line, and CaseError for an unknown kernel or an
    include path that does not exist.
    """
    names = tuple(kernels)
    _, module = _compile_device_code(source, filename, names, options)
    if module is None:
        raise _unknown_kernel(source, filename, names, options)
    compiled, found = module
    spills = spills_of(compiled.log)
    version = compiler_version(options.nvrtc)
    made = []
    for name, entry in zip(names, found, strict=True):
        facts = read_cubin(compiled.cubin, entry)
        made.append(
            Kernel(
                name=name,
                entry=entry,
                ptx=compiled.ptx,
                arch=options.arch,
                filename=filename,
                registers=facts.registers,
                static_shared_bytes=facts.static_shared_bytes,
                cubin=compiled.cubin,
                compiler=version,
                spills=spills.get(entry),
                origin=(source, options),
            )
        )
    return tuple(made)


def compile_cubin(
    source: str, filename: str, kernel: str, options: CompileOptions
) -> tuple[bytes, str]:
    """Machine code for ``options.arch`` and the mangled entry of ``kernel``. Raises CompileError
    with the first error's file and line, and CaseError for an unknown kernel."""
    made = compile_kernel(source, filename, kernel, options)
    return made.cubin or b"", made.entry


def device_source(source: str, filename: str, kernel: str, options: CompileOptions) -> DeviceSource:
    """What the compiler gets in place of ``source``, with host code left out where it must be.

    Offsets in UTF-8 and lines are those of ``source``. Raises CompileError where it does not
    compile.
    """
    key = (source, filename, kernel, options)
    if key not in _device_sources:
        _compile_device_code(source, filename, (kernel,), options)
    return _device_sources[key]


def left_out(source: str, filename: str, kernel: str, options: CompileOptions) -> tuple[str, ...]:
    """Names of the functions of ``source`` that were left out as host code. Raises CompileError
    where the rest does not compile."""
    return device_source(source, filename, kernel, options).left_out


_Key = tuple[str, str, str, CompileOptions]
_device_sources: OrderedDict[_Key, DeviceSource] = OrderedDict()
"""Results of the last compilations, for those who parse the same sources afterwards."""
_searches: OrderedDict[tuple[str, CompileOptions], EarlierSearch] = OrderedDict()
"""What was left out of the last files, for further versions of them."""


def compiler_version(nvrtc: str = DEFAULT_NVRTC) -> str:
    """Version of the NVRTC library that ``nvrtc`` stands for, such as ``13.5``."""
    return nvrtc_library(nvrtc).version


def supported_archs(nvrtc: str = DEFAULT_NVRTC) -> tuple[int, ...]:
    """Compute capabilities times ten that this NVRTC can compile for."""
    return nvrtc_library(nvrtc).archs


def header_paths(nvrtc: str = DEFAULT_NVRTC) -> tuple[Path, ...]:
    """CUDA's own headers, from their wheels, and stand-ins for those of the C and C++ libraries."""
    return cuda_headers(nvrtc)


class _RefusedError(Exception):
    """The compiler's log, for the search of what to leave out."""

    def __init__(self, log: str, filename: str) -> None:
        self.shown = _compile_error(log, filename)
        """What the user is told."""
        self.errors = tuple(
            SourceError(
                m["file"],
                int(m["line"]),
                # The log shows the line of code and the mark two columns to the right.
                len(m["caret"]) - 2 if m["caret"] is not None else None,
                m["text"],
            )
            for m in _LOCATED_ERROR.finditer(log)
        )


def _unknown_kernel(
    source: str, filename: str, kernels: tuple[str, ...], options: CompileOptions
) -> CaseError:
    unknown = kernels[0]
    if len(kernels) > 1:
        alone = (_compile_device_code(source, filename, (name,), options)[1] for name in kernels)
        unknown = next(
            (name for name, found in zip(kernels, alone, strict=True) if found is None), unknown
        )
    known = HostCode(source, filename, kernels, options).kernels()
    if unknown in known:
        hint = (
            f"it defines one, but as a template (an instance is '{unknown}<float>'), in a "
            f"namespace ('space::{unknown}'), more than once, or under a condition that does not "
            "hold"
        )
    elif known:
        hint = f"kernels in this source: {', '.join(known)}"
    else:
        hint = "it defines no __global__ function (name a template's instance as 'name<float>')"
    return CaseError(f"no kernel named '{unknown}'", where=filename, hint=hint)


_Module = tuple[Compilation, tuple[str, ...]] | None
"""What was compiled, and the mangled entries of the kernels."""


def _compile_device_code(
    source: str, filename: str, kernels: tuple[str, ...], options: CompileOptions
) -> tuple[DeviceSource, _Module]:
    """What was compiled in place of ``source``, and the result of :func:`_compile`."""
    device, module = _compile_as_before(source, filename, kernels, options) or _compile_searching(
        source, filename, kernels, options
    )
    for kernel in kernels:
        _device_sources[source, filename, kernel, options] = device
    while len(_device_sources) > _REMEMBERED:
        _device_sources.popitem(last=False)
    return device, module


def _compile_as_before(
    source: str, filename: str, kernels: tuple[str, ...], options: CompileOptions
) -> tuple[DeviceSource, _Module] | None:
    """The source without what another version of it did without; None where there is none, or where
    the compiler refuses this one."""
    earlier = _searches.get((filename, options))
    if earlier is None:
        return None
    search = HostCode(source, filename, kernels, options)
    search.begin_with(earlier)
    device = search.device_source()
    try:
        return device, _compile(device, filename, options, kernels)
    except _RefusedError:
        return None


def _compile_searching(
    source: str, filename: str, kernels: tuple[str, ...], options: CompileOptions
) -> tuple[DeviceSource, _Module]:
    """The source with host code left out, one round of the compiler's errors after another."""
    search = HostCode(source, filename, kernels, options)
    untouched = not search.is_sure_to_be_refused
    device = search.untouched() if untouched else search.device_source()
    shown = None
    while True:
        try:
            module = _compile(device, filename, options, kernels)
            break
        except _RefusedError as error:
            if shown is None or not search.full_library:
                # Errors that remain, or are new, with the full headers would not help the user.
                shown = error
            if not search.leave_out(error.errors) and not untouched:
                told = shown.shown
                told.hint = told.hint or search.hint(shown.errors)
                raise told from None
            untouched, device = False, search.device_source()
    found = None if untouched else search.found()
    if found is not None:
        _searches[filename, options] = found
    while len(_searches) > _REMEMBERED:
        _searches.popitem(last=False)
    return device, module


def _compile(
    source: DeviceSource, filename: str, options: CompileOptions, kernels: tuple[str, ...]
) -> _Module:
    """What was compiled, and the mangled entries; None where a name stands for no kernel."""
    for path in options.include_paths:
        if not path.is_dir():
            raise CaseError(f"include path {path} is not a directory", where="include")
    library = nvrtc_library(options.nvrtc)
    headers = [(name, text) for name, _, text in source.headers]
    flags = _flags(filename, options, source)
    try:
        compiled = library.compile(
            source.text, filename, headers=headers, flags=flags, expressions=kernels
        )
    except CompilerCrashError as error:
        # The view's parser itself asks this module what to parse.
        from placewise.kernel.view.tree.first_error import first_error

        found_by_clang = first_error(source, filename, options)
        if found_by_clang is not None:
            line, message = found_by_clang
            raise CompileError(
                f"does not compile: {message} (Clang says so; {error.message})",
                where=f"{filename}:{line}",
            ) from None
        raise
    if compiled.succeeded:
        found = compiled.lowered
    else:
        refused = _RefusedError(compiled.log, filename)
        # NVRTC looks names up in a file of its own, which comes after the source.
        if not refused.errors or any(e.file != _NAME_FILE for e in refused.errors):
            raise refused
        # It cannot tell a kernel from a function of its own that is called so, such as exp, nor
        # from a declaration of the kernel with other parameters.
        compiled = library.compile(source.text, filename, headers=headers, flags=flags)
        found = tuple(_entry_called(name, compiled.ptx) for name in kernels)
    entries = tuple(name for name in found if name and f".entry {name}(" in compiled.ptx)
    return (compiled, entries) if len(entries) == len(kernels) else None


def _entry_called(kernel: str, ptx: str) -> str | None:
    """The entry of a kernel that is no template's instance; None where there is none, or more than
    one, of its name. Names are mangled as the Itanium C++ ABI says: ``exp`` to ``_Z3exp…``, and
    ``space::exp`` to ``_ZN5space3expE…``."""
    parts = kernel.split("::")
    mangled = "".join(f"{len(part)}{part}" for part in parts)
    start = f"_ZN{mangled}E" if len(parts) > 1 else f"_Z{mangled}"
    entries = [
        name for name in _ENTRY.findall(ptx)
        if name == kernel or (name.startswith(start) and not name.startswith(f"{start}I"))
    ]  # fmt: skip
    return entries[0] if len(entries) == 1 else None


def _flags(filename: str, options: CompileOptions, source: DeviceSource) -> list[str]:
    named = options.arch.startswith("sm_")
    if not named or options.target.number not in supported_archs(options.nvrtc):
        raise _unknown_target(options)
    paths = [*options.include_paths, Path(filename).parent, *header_paths(options.nvrtc)]
    return [
        f"--gpu-architecture={options.arch}",
        f"--std={options.std}",
        "--generate-line-info",
        # For what is spilled, which the machine code itself does not tell.
        "--ptxas-options=-v",
        *toolkit(options.nvrtc).flags,
        *options.flags,
        *source.flags,
        *(f"--define-macro={name}={value}" for name, value in (*options.defines, *source.defines)),
        *(f"--pre-include={name}" for name in source.preincludes),
        *(f"--include-path={path}" for path in paths),
    ]


def _unknown_target(options: CompileOptions) -> CaseError:
    version = compiler_version(options.nvrtc)
    known = ", ".join(f"sm_{a}" for a in supported_archs(options.nvrtc))
    hint = f"it knows {known}"
    if 0 < options.target.number < min(supported_archs(options.nvrtc)):
        hint += "; sm_50 to sm_72 need NVRTC 12.9, sm_35 and sm_37 need 11.8"
    return CaseError(f"NVRTC {version} has no target '{options.arch}'", hint=hint)


def _where_it_lies(header: str, source: Path) -> str:
    folder = folder_with(header, source.parent) if source.is_file() else None
    known = f"it lies in {folder}: " if folder else ""
    return f"{known}add the header's folder to the case's include paths"


def _compile_error(log: str, filename: str) -> CompileError:
    errors = [m for m in _LOCATED_ERROR.finditer(log) if m["file"] != _NAME_FILE]
    if errors:
        found = errors[0]
        where = f"{found['file']}:{found['line']}"
        count = len(errors)
        more = f" (and {count - 1} more)" if count > 1 else ""
        hint = None
        if header := MISSING_HEADER.search(found["text"]):
            hint = _where_it_lies(header[1], Path(filename))
        elif "device-side kernel launch" in found["text"]:
            hint = "kernels that launch kernels are not covered: they need NVIDIA's device runtime"
        return CompileError(
            f"does not compile: {found['text'].strip()}{more}", where=where, hint=hint
        )
    missing = _UNRESOLVED.search(log)
    if missing:
        return CompileError(
            f"does not compile: '{_spelled(missing['name'])}' is declared but nowhere defined",
            where=filename,
            hint="a source is not linked with others: let it include the file that has the "
            "definition",
        )
    return CompileError(
        f"does not compile: {log.strip() or 'no message from the compiler'}", where=filename
    )


def _spelled(mangled: str) -> str:
    """The name that a mangled one was made of; nested ones and templates' stay as they are."""
    found = re.match(r"_Z(\d+)", mangled)
    return mangled[found.end() :][: int(found[1])] if found else mangled
