"""Machine code of functions that Numba compiles, kept from one process to the next.

Numba's own cache knows only the file that a function stands in. A function of the simulator holds
the code of some sixty modules, so its machine code is kept here under a hash of the text of every
module of Placewise that its own module imports, directly or not. Code is looked for in two folders:
that of the installation, which ``python -m placewise.compile_ahead`` fills, then the user's cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core import serialize, sigutils
from numba.core.caching import _Cache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys

from placewise.disk_cache import DiskCache, key_of

ROOT = Path(__file__).parent
AHEAD = ROOT / "compiled" / (sys.implementation.cache_tag or "python")
"""Folder of the installation for code that was compiled ahead for this version of Python."""
_IMPORT = re.compile(r"^\s*from (placewise[\w.]*) import ([^\n(]+|\([^)]*\))", re.MULTILINE)
_NAME = re.compile(r"\w+")
USER_CACHE = DiskCache("machine-code", files=400)
"""At most 400 functions, about 40 MB; the least recently used are deleted first."""
_INSTALLED = DiskCache("compiled", files=0, place=AHEAD)


@dataclass
class _Setting:
    """Where new code goes, and who is told that a function has to be compiled."""

    cache: DiskCache = USER_CACHE
    listener: Callable[[], None] | None = None


_setting = _Setting()


def compiled(signature: str | None = None, **options: Any) -> Callable[[Any], Any]:
    """Decorator: ``numba.njit`` with ``options`` whose machine code is kept.

    With a ``signature`` the function is compiled, or loaded, at once and for that signature alone.
    """

    def decorate(function: Any) -> Any:
        dispatcher = njit(**options)(function)
        dispatcher._cache = CodeCache(function)
        if signature is not None:
            dispatcher.compile(signature)
            dispatcher.disable_compile()
        return dispatcher

    return decorate


def compiled_callback(signature: Any, **options: Any) -> Callable[[Any], Any]:
    """Decorator: ``numba.cfunc``, a function that C code can call, whose machine code is kept."""

    def decorate(function: Any) -> Any:
        callback = CFunc(function, sigutils.normalize_signature(signature), {}, options)
        callback._cache = CodeCache(function)  # type: ignore[attr-defined]
        callback.compile()
        return callback

    return decorate


class CodeCache(_Cache):  # type: ignore[misc]
    """The machine code of one function, by signature and processor, as Numba asks for it."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """Folder that new code is written to."""
        return str(USER_CACHE.folder())

    def enable(self) -> None:
        """Look for code and keep it."""
        self._enabled = True

    def disable(self) -> None:
        """Neither look for code nor keep it."""
        self._enabled = False

    def flush(self) -> None:
        """Numba asks for this to forget code; stale code has another key and is never found."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, or None where it is to be compiled."""
        if not self._enabled:
            return None
        key = self._key(sig, target_context.codegen())
        for cache in (_INSTALLED, USER_CACHE):
            stored = cache.read(key)
            if stored is not None:
                if _setting.cache is not USER_CACHE:
                    _setting.cache.write(key, stored)
                rtsys.initialize(target_context)
                return CompileResult._rebuild(target_context, *pickle.loads(stored))
        if _setting.listener is not None:
            _setting.listener()
        # Only compiling needs what Numba knows of NumPy; to import it takes a third of a second.
        target_context.refresh()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        if self._enabled:
            key = self._key(sig, data.codegen)
            _setting.cache.write(key, serialize.dumps(data._reduce()))

    def _key(self, sig: Any, codegen: Any) -> str:
        function = self._function
        cells = [c.cell_contents for c in function.__closure__ or ()]
        return key_of(
            numba.__version__,
            sys.version,
            f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}",
            serialize.dumps(cells),
            str(sig),
            str(codegen.magic_tuple()),
            text_digest(function.__module__),
        )


@functools.cache
def text_digest(module: str) -> bytes:
    """SHA-256 of the text of ``module`` and of all modules of Placewise that it imports."""
    found: dict[str, bytes] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name], imported = _own_digest_and_imports(name)
            todo += imported
    return hashlib.sha256(b"".join(found[name] for name in sorted(found))).digest()


@functools.cache
def _own_digest_and_imports(module: str) -> tuple[bytes, tuple[str, ...]]:
    """(SHA-256 of the text of ``module``, names that it imports); empty for what is no module."""
    path = _path_of(module)
    if path is None:
        return b"", ()
    text = path.read_bytes()
    imported: list[str] = []
    for package, names in _IMPORT.findall(text.decode()):
        imported += [package, *(f"{package}.{n}" for n in _NAME.findall(names))]
    return hashlib.sha256(text).digest(), tuple(imported)


def _path_of(module: str) -> Path | None:
    """The file of a module or package of Placewise; None where there is no such module."""
    path = ROOT.joinpath(*module.split(".")[1:])
    if path == ROOT:
        return None
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


@contextlib.contextmanager
def told_of_compiling(listener: Callable[[], None]) -> Iterator[None]:
    """Call ``listener`` once, when the first function within the block has to be compiled."""

    def once() -> None:
        _setting.listener = None
        listener()

    _setting.listener = once
    try:
        yield
    finally:
        _setting.listener = None


@contextlib.contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Write code that the block compiles or loads to ``folder``.

    Loaded code is written, too, so that the folder holds all that the block calls, even where
    another folder held some of it.
    """
    _setting.cache = DiskCache(folder.name, files=10_000, place=folder)
    try:
        yield
    finally:
        _setting.cache = USER_CACHE
