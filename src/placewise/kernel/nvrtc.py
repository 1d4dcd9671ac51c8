"""CUDA C++ to PTX and machine-code resources with NVRTC, which needs neither a driver nor a GPU."""

from __future__ import annotations

import importlib.metadata
import io
import re
import struct
from collections import OrderedDict
from functools import cache
from pathlib import Path
from typing import Any

from cuda.bindings import nvrtc
from elftools.elf.elffile import ELFFile

from placewise.errors import CaseError, CompileError
from placewise.kernel.case import CompileOptions
from placewise.kernel.host_code import DeviceSource, HostCode, SourceError
from placewise.kernel.kernel import Kernel

_LOCATED_ERROR = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error[^:\n]*: (?P<text>.*)$"
    r"(?:\n  (?P<code>.*)\n(?P<caret>[ \t]*)\^)?",
    re.M,
)
"""One error of NVRTC's log, with the line of code that it shows and the mark under the column."""
_NAME_FILE = "__nv_name_map"
_REMEMBERED = 64
"""Sources of which it is remembered what was left out."""
_REGCOUNT_ATTRIBUTE = b"\x04\x2f\x08\x00"
"""EIATTR_REGCOUNT in a cubin's ``.nv.info``: then symbol index and registers, 32 bits each."""


def compile_kernel(source: str, filename: str, kernel: str, options: CompileOptions) -> Kernel:
    """Compile ``source`` and pick the entry ``kernel``.

    Raises CompileError with the first error's file and line, CaseError for an unknown kernel or
    an include path that does not exist.
    """
    _, module = _compile_device_code(source, filename, kernel, options)
    if module is None:
        known = HostCode(source, filename, kernel, options).kernels()
        raise CaseError(
            f"no kernel named '{kernel}'",
            where=filename,
            hint=f"kernels in this source: {', '.join(known)}"
            if known
            else "it defines no __global__ function (name a template's instance as 'name<float>')",
        )
    ptx, cubin, entry = module
    registers, shared = _resources(cubin, entry)
    return Kernel(
        name=kernel,
        entry=entry,
        ptx=ptx,
        arch=options.arch,
        filename=filename,
        registers=registers,
        static_shared_bytes=shared,
    )


def compile_cubin(
    source: str, filename: str, kernel: str, options: CompileOptions
) -> tuple[bytes, str]:
    """Machine code for ``options.arch`` and the mangled entry of ``kernel``; raises as above."""
    _, module = _compile_device_code(source, filename, kernel, options)
    if module is None:
        raise CaseError(f"no kernel named '{kernel}'", where=filename)
    return module[1], module[2]


def device_source(source: str, filename: str, kernel: str, options: CompileOptions) -> DeviceSource:
    """What the compiler gets in place of ``source``, with host code left out where it must be.

    Offsets in UTF-8 and lines are those of ``source``. Raises CompileError where it does not
    compile.
    """
    key = (source, filename, kernel, options)
    if key not in _device_sources:
        _compile_device_code(*key)
    return _device_sources[key]


def left_out(source: str, filename: str, kernel: str, options: CompileOptions) -> tuple[str, ...]:
    """Names of the functions of ``source`` that were left out as host code; raises as above."""
    return device_source(source, filename, kernel, options).left_out


_Key = tuple[str, str, str, CompileOptions]
_device_sources: OrderedDict[_Key, DeviceSource] = OrderedDict()
"""Results of the last compilations, for those who parse the same sources afterwards."""


@cache
def compiler_version() -> str:
    """Version of the NVRTC library in use, such as ``13.5``."""
    _, major, minor = nvrtc.nvrtcVersion()
    return f"{major}.{minor}"


@cache
def supported_archs() -> tuple[int, ...]:
    """Compute capabilities times ten that this NVRTC can compile for."""
    return tuple(_checked(nvrtc.nvrtcGetSupportedArchs()))


@cache
def header_paths() -> tuple[Path, ...]:
    """CUDA's own headers, from their wheels, and stand-ins for those of the C and C++ libraries."""
    root = Path(
        str(importlib.metadata.distribution("nvidia-cuda-runtime").locate_file("nvidia/cu13"))
    )
    return (root / "include", root / "include" / "cccl", Path(__file__).with_name("headers"))


class _RefusedError(CompileError):
    """The compiler's log, for the search of what to leave out."""

    def __init__(self, log: str, filename: str) -> None:
        shown = _compile_error(log, filename)
        super().__init__(shown.message, where=shown.where, hint=shown.hint)
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


def _compile_device_code(
    source: str, filename: str, kernel: str, options: CompileOptions
) -> tuple[DeviceSource, tuple[str, bytes, str] | None]:
    """What was compiled in place of ``source``, and what came out, as of :func:`_compile`."""
    device = DeviceSource(source)
    search = shown = None
    while True:
        try:
            module = _compile(device, filename, options, kernel)
            break
        except _RefusedError as error:
            first = search is None
            search = search or HostCode(source, filename, kernel, options)
            if shown is None or not search.full_library:
                # What the full library adds in vain is no news to the user.
                shown = error
            if not search.leave_out(error.errors) and not first:
                shown.hint = shown.hint or search.hint(shown.errors)
                raise shown from None
            device = search.device_source()
    _device_sources[source, filename, kernel, options] = device
    if len(_device_sources) > _REMEMBERED:
        _device_sources.popitem(last=False)
    return device, module


def _compile(
    source: DeviceSource, filename: str, options: CompileOptions, kernel: str | None
) -> tuple[str, bytes, str] | None:
    """(PTX, cubin, mangled entry), or None where ``kernel`` names nothing in the source."""
    for path in options.include_paths:
        if not path.is_dir():
            raise CaseError(f"include path {path} is not a directory", where="include")
    headers = [text.encode() for _, _, text in source.headers]
    names = [name.encode() for name, _, _ in source.headers]
    program = _checked(
        nvrtc.nvrtcCreateProgram(
            source.text.encode(), filename.encode(), len(headers), headers or None, names or None
        )
    )
    try:
        if kernel is not None:
            _checked(nvrtc.nvrtcAddNameExpression(program, kernel.encode()))
        flags = _flags(filename, options, source)
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if kernel is not None and status == nvrtc.nvrtcResult.NVRTC_SUCCESS:
            error, lowered = nvrtc.nvrtcGetLoweredName(program, kernel.encode())
            if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                return None
            entry = lowered.decode()
        elif status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            refused = _RefusedError(log, filename)
            # NVRTC looks the name up in a file of its own, behind the source.
            if refused.errors and all(e.file == _NAME_FILE for e in refused.errors):
                return None
            raise refused
        else:
            entry = ""
        ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        if entry and f".entry {entry}(" not in ptx:
            return None
        return ptx, _bytes(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN), entry
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _flags(filename: str, options: CompileOptions, source: DeviceSource) -> list[str]:
    number = options.arch.removeprefix("sm_").rstrip("af")
    if not number.isdigit() or int(number) not in supported_archs():
        known = ", ".join(f"sm_{a}" for a in supported_archs())
        raise CaseError(f"the compiler has no target '{options.arch}'", hint=f"it knows {known}")
    paths = [*options.include_paths, Path(filename).parent, *header_paths()]
    return [
        f"--gpu-architecture={options.arch}",
        f"--std={options.std}",
        "--generate-line-info",
        *(f"--define-macro={name}={value}" for name, value in (*options.defines, *source.defines)),
        *(f"--pre-include={name}" for name in source.preincludes),
        *(f"--include-path={path}" for path in paths),
    ]


def _compile_error(log: str, filename: str) -> CompileError:
    errors = [m for m in _LOCATED_ERROR.finditer(log) if m["file"] != _NAME_FILE]
    if errors:
        found = errors[0]
        where = f"{found['file']}:{found['line']}"
        count = len(errors)
        more = f" (and {count - 1} more)" if count > 1 else ""
        hint = None
        if "cannot open source file" in found["text"]:
            hint = "add the header's folder to the case's include paths"
        elif '"register"' in found["text"]:
            hint = "C++17 has no 'register'; set the case's std to c++14"
        return CompileError(
            f"does not compile: {found['text'].strip()}{more}", where=where, hint=hint
        )
    return CompileError(
        f"does not compile: {log.strip() or 'no message from the compiler'}", where=filename
    )


def _resources(cubin: bytes, entry: str) -> tuple[int | None, int]:
    """Registers per thread and static shared bytes of ``entry``, as ptxas assigned them."""
    elf = ELFFile(io.BytesIO(cubin))
    symbols: Any = elf.get_section_by_name(".symtab")
    info = elf.get_section_by_name(".nv.info")
    shared = elf.get_section_by_name(f".nv.shared.{entry}")
    registers = None
    if symbols is not None and info is not None:
        data = info.data()
        at = data.find(_REGCOUNT_ATTRIBUTE)
        while at >= 0:
            symbol, count = struct.unpack_from("<II", data, at + 4)
            if symbols.get_symbol(symbol).name == entry:
                registers = count
            at = data.find(_REGCOUNT_ATTRIBUTE, at + 12)
    return registers, int(shared["sh_size"]) if shared is not None else 0


def _checked(result: tuple[Any, ...]) -> Any:
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC failed with {status.name}")
    return values[0] if values else None


def _bytes(program: Any, size: Any, fill: Any) -> bytes:
    # One byte more than asked: NVRTC writes into the object itself, and Python shares its bytes
    # objects of length one.
    length: int = _checked(size(program))
    buffer = b" " * (length + 1)
    _checked(fill(program, buffer))
    return buffer[:length]


def _text(program: Any, size: Any, fill: Any) -> str:
    return _bytes(program, size, fill).rstrip(b"\0").decode(errors="replace")
