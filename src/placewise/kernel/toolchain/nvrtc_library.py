"""NVRTC's C interface, the part of it that 11.8, 12 and 13 have in common.

One shared object is loaded per release, by path, so several can be used side by side. Functions
are those of NVIDIA's "NVRTC" reference.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from placewise.errors import CompileError
from placewise.kernel.toolchain.wheels import DEFAULT_NVRTC, toolkit

_SUCCESS = 0
_PROGRAM = ctypes.c_void_p
_COMPILATION_ERROR = 6
_NAME_ERRORS = (7, 8, 9, 10)
"""NVRTC_ERROR_BUILTIN_OPERATION_FAILURE to NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID."""


@dataclass(frozen=True)
class Compilation:
    """What came of one source."""

    succeeded: bool
    log: str
    ptx: str
    """Empty, as is ``cubin``, where the source was refused."""
    cubin: bytes
    lowered: tuple[str | None, ...]
    """Mangled name of each name expression; None for one that names nothing."""


class NvrtcLibrary:
    """One loaded NVRTC."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise CompileError(f"NVRTC cannot be loaded: {error}", where=str(path)) from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        archs = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", archs)
        self.archs: tuple[int, ...] = tuple(archs)
        """Compute capabilities times ten that it can compile for."""

    def compile(
        self,
        source: str,
        filename: str,
        *,
        headers: Sequence[tuple[str, str]] = (),
        flags: Sequence[str],
        expressions: Sequence[str] = (),
    ) -> Compilation:
        """Compile ``source``; ``headers`` are (name, text) pairs that it may include.

        Raises CompileError only where NVRTC itself fails; a source that it refuses is reported
        in the result.
        """
        with _own_locale():
            return self._compile(source, filename, headers, flags, expressions)

    def _compile(
        self,
        source: str,
        filename: str,
        headers: Sequence[tuple[str, str]],
        flags: Sequence[str],
        expressions: Sequence[str],
    ) -> Compilation:
        program = _PROGRAM()
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source.encode(),
            filename.encode(),
            len(headers),
            _strings([text for _, text in headers]),
            _strings([name for name, _ in headers]),
        )
        try:
            for expression in expressions:
                self._call("nvrtcAddNameExpression", program, expression.encode())
            status = self._library.nvrtcCompileProgram(program, len(flags), _strings(flags))
            log = self._text(program, "nvrtcGetProgramLog")
            if status != _SUCCESS:
                if not log.strip() and status != _COMPILATION_ERROR:
                    log = self._error(status)
                return Compilation(False, log, "", b"", (None,) * len(expressions))
            return Compilation(
                True,
                log,
                self._text(program, "nvrtcGetPTX"),
                self._bytes(program, "nvrtcGetCUBIN"),
                tuple(self._lowered(program, expression) for expression in expressions),
            )
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _lowered(self, program: ctypes.c_void_p, expression: str) -> str | None:
        name = ctypes.c_char_p()
        status = self._library.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name))
        if status in _NAME_ERRORS:
            return None
        self._check(status, "nvrtcGetLoweredName")
        return name.value.decode() if name.value else None

    def _bytes(self, program: ctypes.c_void_p, function: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{function}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(function, program, buffer)
        return buffer.raw

    def _text(self, program: ctypes.c_void_p, function: str) -> str:
        return self._bytes(program, function).rstrip(b"\0").decode(errors="replace")

    def _call(self, function: str, *arguments: object) -> None:
        self._check(getattr(self._library, function)(*arguments), function)

    def _check(self, status: int, function: str) -> None:
        if status != _SUCCESS:
            raise CompileError(f"{function} failed: {self._error(status)}")

    def _error(self, status: int) -> str:
        return (self._library.nvrtcGetErrorString(status) or b"unknown error").decode()


@contextlib.contextmanager
def _own_locale() -> Iterator[None]:
    """Keep the thread's locale: NVRTC 11.8 leaves its own behind, in which text is ASCII."""
    use = ctypes.CDLL(None).uselocale
    use.restype, use.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    before = use(None)
    try:
        yield
    finally:
        use(before)


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p] | None:
    if not texts:
        return None
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


@cache
def nvrtc_library(nvrtc: str = DEFAULT_NVRTC) -> NvrtcLibrary:
    """The library of the release that ``nvrtc`` asks for; raises as :func:`toolkit` does."""
    return NvrtcLibrary(toolkit(nvrtc).nvrtc)
