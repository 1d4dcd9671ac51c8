"""NVRTC in a process of its own: ``python nvrtc_process.py LIBRARY MEMORY``.

A source can bring NVRTC down, or keep it busy for hours, which then costs this process alone. It
needs nothing but Python's own modules. The C interface is the part that 11.8, 12 and 13 have in
common; functions are those of NVIDIA's "NVRTC" reference.

It writes (version, architectures), or a text where the library cannot be loaded. Then it reads
(source, file name, headers, flags, expressions) and writes (succeeded, log, PTX, cubin, mangled
names), or a text where NVRTC itself failed, until its input ends. All is written by ``marshal``.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SUCCESS = 0
_PROGRAM = ctypes.c_void_p
_COMPILATION_ERROR = 6
_NAME_ERRORS = (7, 8, 9, 10)
"""NVRTC_ERROR_BUILTIN_OPERATION_FAILURE to NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID."""


class _NvrtcError(Exception):
    pass


class _Nvrtc:
    """One loaded NVRTC."""

    def __init__(self, path: str) -> None:
        try:
            # NVRTC 13.0 looks for its second library in the system's folders alone, but takes what
            # is loaded already.
            for second in Path(path).parent.glob("libnvrtc-builtins.so*"):
                ctypes.CDLL(str(second))
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise _NvrtcError(f"NVRTC cannot be loaded: {error}") from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> tuple[str, tuple[int, ...]]:
        """Version, and the compute capabilities times ten that it can compile for."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        archs = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", archs)
        return f"{major.value}.{minor.value}", tuple(archs)

    def compile(
        self,
        source: bytes,
        filename: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        flags: Sequence[bytes],
        expressions: Sequence[bytes],
    ) -> tuple[bool, bytes, bytes, bytes, tuple[bytes | None, ...]]:
        """(succeeded, log, PTX, cubin, mangled name of each expression); ``headers`` are (name,
        text) pairs that the source may include."""
        program = _PROGRAM()
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source,
            filename,
            len(headers),
            _strings([text for _, text in headers]),
            _strings([name for name, _ in headers]),
        )
        try:
            for expression in expressions:
                self._call("nvrtcAddNameExpression", program, expression)
            status = self._library.nvrtcCompileProgram(program, len(flags), _strings(flags))
            log = self._bytes(program, "nvrtcGetProgramLog").rstrip(b"\0")
            if status != _SUCCESS:
                if not log.strip() and status != _COMPILATION_ERROR:
                    log = self._error(status)
                return False, log, b"", b"", (None,) * len(expressions)
            return (
                True,
                log,
                self._bytes(program, "nvrtcGetPTX").rstrip(b"\0"),
                self._bytes(program, "nvrtcGetCUBIN"),
                tuple(self._lowered(program, expression) for expression in expressions),
            )
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _lowered(self, program: ctypes.c_void_p, expression: bytes) -> bytes | None:
        name = ctypes.c_char_p()
        status = self._library.nvrtcGetLoweredName(program, expression, ctypes.byref(name))
        if status in _NAME_ERRORS:
            return None
        self._check(status, "nvrtcGetLoweredName")
        return name.value or None

    def _bytes(self, program: ctypes.c_void_p, function: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{function}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(function, program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        self._check(getattr(self._library, function)(*arguments), function)

    def _check(self, status: int, function: str) -> None:
        if status != _SUCCESS:
            raise _NvrtcError(f"{function} failed: {self._error(status).decode(errors='replace')}")

    def _error(self, status: int) -> bytes:
        return self._library.nvrtcGetErrorString(status) or b"unknown error"


def _strings(texts: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p] | None:
    if not texts:
        return None
    return (ctypes.c_char_p * len(texts))(*texts)


def _end_with_parent() -> None:
    """End when nobody is left to write requests, also while a source is being compiled."""
    poll = select.poll()
    poll.register(0, 0)
    poll.poll()
    os._exit(0)


def _main() -> None:
    # Ctrl-C in a terminal reaches this process too; who asked for the compilation ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Answers go to a copy: libraries may print to standard output.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def answered(work: Any, *arguments: Any) -> bool:
        try:
            answer, succeeded = work(*arguments), True
        except _NvrtcError as error:
            answer, succeeded = str(error), False
        marshal.dump(answer, answers)
        answers.flush()
        return succeeded

    library: list[_Nvrtc] = []

    def load() -> tuple[str, tuple[int, ...]]:
        library.append(_Nvrtc(sys.argv[1]))
        return library[0].version()

    if not answered(load):
        return
    while True:
        try:
            request = marshal.load(sys.stdin.buffer)
        except EOFError:
            return
        answered(library[0].compile, *request)


if __name__ == "__main__":
    _main()
