"""NVRTC of a release, run in processes of its own, so that several releases work side by side and
no source can bring this process down, or keep it waiting for ever."""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from placewise.disk_cache import DiskCache, key_of
from placewise.errors import CompileError
from placewise.kernel.toolchain import nvrtc_process
from placewise.kernel.toolchain.wheels import DEFAULT_NVRTC, toolkit

SECONDS_VARIABLE = "PLACEWISE_COMPILE_SECONDS"
"""Environment variable with the time that one compilation may take."""
_SECONDS = 45.0
_MEMORY = 4 * 2**30 - 2**28
"""Bytes that a compiler may map."""

COMPILATIONS = DiskCache("compilations", files=400)
"""A small kernel takes NVRTC a fifth of a second, and ``advise`` compiles several forms of it."""
_READS_FILES = re.compile(rb"include|embed|import")
"""A source without these words reads no file, so that its text decides what comes out."""


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
    """One NVRTC; each thread that compiles at the same time has a process of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[_Process] = []
        self.version: str
        self.archs: tuple[int, ...]
        """Compute capabilities times ten that it can compile for."""
        self.version, self.archs = self._about()
        # A child process inherits the list, and must not talk to its parent's compilers.
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

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

        Raises CompileError only where NVRTC itself fails, crashes or does not end; a source that it
        refuses is reported in the result.
        """
        request = (
            _encoded(source),
            _encoded(filename),
            [(_encoded(name), _encoded(text)) for name, text in headers],
            [*map(_encoded, flags)],
            [*map(_encoded, expressions)],
        )
        key = self._key(request)
        kept = key and COMPILATIONS.read(key)
        if kept:
            answer = marshal.loads(kept)
        else:
            answer = self._ask(request, filename)
            if key and answer[0]:
                COMPILATIONS.write(key, marshal.dumps(answer))
        succeeded, log, ptx, cubin, lowered = answer
        names = tuple(name and name.decode(errors="replace") for name in lowered)
        return Compilation(
            succeeded, log.decode(errors="replace"), ptx.decode(errors="replace"), cubin, names
        )

    def _about(self) -> tuple[str, tuple[int, ...]]:
        """Version and architectures, kept like compilations, so that a program whose compilations
        are all kept need not load the library."""
        key = key_of("about", *self._file())
        kept = COMPILATIONS.read(key)
        if kept:
            version, archs = marshal.loads(kept)
            return version, archs
        first = self._process()
        self._idle.append(first)
        COMPILATIONS.write(key, marshal.dumps((first.version, first.archs)))
        return first.version, first.archs

    def _file(self) -> tuple[str, str]:
        """Path and state of the library's file. Raises CompileError where it cannot be read."""
        try:
            state = self._path.stat()
        except OSError as error:
            raise CompileError(f"NVRTC cannot be loaded: {error}", where=str(self._path)) from error
        return str(self._path), f"{state.st_size} {state.st_mtime_ns}"

    def _key(self, request: tuple[Any, ...]) -> str | None:
        """The name that the answer is kept under; None where it may depend on other files."""
        source, _, headers, flags, _ = request
        texts = (source, *(text for _, text in headers))
        if any(map(_READS_FILES.search, texts)) or any(b"pre-include" in flag for flag in flags):
            return None
        return key_of(*self._file(), repr(request))

    def _ask(self, request: tuple[Any, ...], filename: str) -> tuple[Any, ...]:
        """What a process answers to ``request``; raises CompileError where NVRTC itself fails."""
        try:
            process = self._idle.pop()
        except IndexError:
            process = self._process()
        try:
            answer = process.ask(request, filename)
        except BaseException:
            process.kill()
            raise
        self._idle.append(process)
        if isinstance(answer, str):
            raise CompileError(answer, where=filename)
        return tuple(answer)

    def _process(self) -> _Process:
        return _Process(self._path)

    def _forget(self) -> None:
        for process in self._idle:
            process.close()
        self._idle.clear()

    def _end(self) -> None:
        for process in self._idle:
            process.kill()
        self._idle.clear()


class CompilerCrashError(CompileError):
    """The compiler ended without a word on what is wrong."""


class _Process:
    """A running ``nvrtc_process.py``; raises CompileError where it cannot start."""

    def __init__(self, path: Path) -> None:
        script = nvrtc_process.__file__
        command = [sys.executable, "-I", "-S", script, str(path), str(_MEMORY)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise CompileError(f"the compiler cannot be started: {error}") from error
        self._stdin, self._stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        try:
            answer = self._answer(str(path))
        except BaseException:
            self.kill()
            raise
        if isinstance(answer, str):
            raise CompileError(answer, where=str(path))
        self.version, self.archs = answer

    def ask(self, request: tuple[Any, ...], where: str) -> Any:
        """What it answers to ``request``. Raises CompileError, after which it must be killed."""
        # Where it has ended, there is no answer either.
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(marshal.dumps(request))
            self._stdin.flush()
        return self._answer(where)

    def _answer(self, where: str) -> Any:
        seconds = _time_limit()
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise CompileError(
                f"the compiler did not end in {seconds:.0f} s",
                where=where,
                hint=f"give it more time with {SECONDS_VARIABLE}=600, or simplify the source",
            )
        try:
            return marshal.load(self._stdout)
        except (EOFError, ValueError, TypeError):  # also of an answer cut short
            raise _crash(self._process.wait(), where) from None

    def close(self) -> None:
        """Leave the process to who started it."""
        # A request that could not be written would be tried again.
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        self._stdout.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self.close()


def _crash(status: int, where: str) -> CompilerCrashError:
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return CompilerCrashError(
        f"NVIDIA's compiler itself failed on this source ({name})",
        where=where,
        hint="it does so for a template that uses a name before it is declared (is a header "
        "missing?), and for very long or deeply nested expressions and statements: split those; it "
        f"may have {_MEMORY / 2**30:.1f} GiB of memory",
    )


def _time_limit() -> float:
    try:
        return max(1.0, min(float(os.environ.get(SECONDS_VARIABLE) or _SECONDS), 1e6))
    except ValueError:
        return _SECONDS


def _encoded(text: str) -> bytes:
    """A text's bytes as C takes them: up to the first zero."""
    return text.encode(errors="replace").split(b"\0")[0]


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


@cache
def nvrtc_library(nvrtc: str = DEFAULT_NVRTC) -> NvrtcLibrary:
    """The library of the release that ``nvrtc`` asks for; raises as :func:`toolkit` does."""
    return NvrtcLibrary(toolkit(nvrtc).nvrtc)
