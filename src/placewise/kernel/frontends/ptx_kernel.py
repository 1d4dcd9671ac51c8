"""Kernels that come as PTX: a file or text that nvcc, NVRTC, Numba, Triton or a person made."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import itanium_demangler

from placewise.errors import CaseError
from placewise.kernel.binary.cubin import read_cubin
from placewise.kernel.frontends.nvrtc import compiler_version, supported_archs
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import outline
from placewise.kernel.ptx.parse import mentioned, parse_ptx
from placewise.kernel.toolchain import DEFAULT_NVRTC, Spills, Target, assemble

_VERSION = re.compile(r"\d+\.\d+")
_TARGET = re.compile(r"sm_(?P<number>\d+)(?P<suffix>[af]?)")
_CAST = re.compile(r"\((?:char|short|int|long|unsigned(?: \w+)*|long long)\)(?=-?\d)")
"""Demangled template arguments that are numbers carry their type, ``(int)4``."""
_SCRATCH = 2
"""Most pointers to scratch memory that Triton appends: global memory, and that of its profiler."""
_UNNAMED = re.compile(r"_GLOBAL__N_\w*::")
"""Unnamed namespaces, which NVRTC mangles with the file's name."""


def ptx_kernel(
    source: str | Path,
    entry: str | None = None,
    *,
    filename: str | None = None,
    arch: str | None = None,
    nvrtc: str = DEFAULT_NVRTC,
) -> Kernel:
    """The kernel ``entry`` of a PTX module.

    ``source`` is the path of a ``.ptx`` file, or the text (text if it has a line break). ``entry``
    is the name in the PTX, or the C++ name with or without template arguments and parameters; None
    where the module has only one kernel. ``arch`` is the target of the machine code, which tells
    registers and shared memory: the PTX's own if None.

    Raises CaseError or CompileError, located by file and line, for what is no valid PTX, has no
    such kernel, or is not for ``arch``; UnsupportedError for PTX with 32-bit addresses.
    """
    text, name = _text(source)
    name = filename or name
    found = outline(text, name)
    if not _VERSION.fullmatch(found.version):
        raise CaseError("no PTX: it has no .version", where=name)
    target = _TARGET.fullmatch(found.target)
    if target is None:
        raise CaseError(
            f"the PTX is for '{found.target}', not for a GPU such as sm_80"
            if found.target
            else "the PTX has no .target",
            where=name,
        )
    chosen = _entry(found.entries, entry, name)
    arch = _runs_as(target, arch or _own_arch(target, nvrtc), name)
    cubin, spills = _assembled(text, Target(arch, nvrtc), name)
    facts = read_cubin(cubin, chosen)
    return Kernel(
        name=entry or readable_name(chosen),
        entry=chosen,
        ptx=text,
        arch=arch,
        filename=name,
        registers=facts.registers,
        static_shared_bytes=facts.static_shared_bytes,
        cubin=cubin,
        compiler=compiler_version(nvrtc),
        spills=dict(spills).get(chosen),
    )


def readable_name(entry: str) -> str:
    """A kernel's C++ name with template arguments, from its name in the PTX."""
    return _spellings(entry)[1]


def _text(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and "\n" in source:
        return source, "<ptx>"
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except FileNotFoundError:
        raise CaseError("no such file", where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"cannot be read as PTX: {error}", where=str(path)) from error


def _entry(entries: tuple[str, ...], wanted: str | None, filename: str) -> str:
    if not entries:
        raise CaseError("the PTX has no kernel (.entry)", where=filename)
    fits = [
        e
        for e in entries
        if wanted is None
        or wanted == e
        or _plain(wanted.replace("(anonymous namespace)::", "")) in map(_plain, _spellings(e))
    ]
    if wanted in fits:
        return str(wanted)
    if len(fits) == 1:
        return fits[0]
    if wanted is None:
        message = f"the PTX has {len(entries)} kernels, and none is named"
    elif fits:
        message = f"'{wanted}' may be any of {len(fits)} kernels"
    else:
        message = f"the PTX has no kernel '{wanted}'"
    shown = fits or entries
    names = [readable_name(e) for e in shown]
    # Overloads differ in their parameters only.
    told = (
        n if names.count(n) == 1 else _spellings(e)[0] for n, e in zip(names, shown, strict=True)
    )
    known = ", ".join(told)
    raise CaseError(message, where=filename, hint=f"kernels: {known}")


def _spellings(entry: str) -> tuple[str, str, str]:
    """(with parameters, without, without template arguments): C++ names of a mangled name.

    Unnamed namespaces are left out of all three.
    """
    try:
        tree = itanium_demangler.parse(entry)
    except (NotImplementedError, IndexError, ValueError):
        # What that library does not know keeps the name that it has in the PTX.
        tree = None
    if tree is None:
        return entry, entry, entry
    whole, name = _cleaned(str(tree)), _cleaned(str(tree.name if tree.kind == "func" else tree))
    return whole, name, _without_arguments(name)


def _cleaned(name: str) -> str:
    name = name.replace("(bool)0", "false").replace("(bool)1", "true")
    return _UNNAMED.sub("", _CAST.sub("", name))


def _without_arguments(name: str) -> str:
    """``ns::f`` of ``ns::f<a<b>, 2>``."""
    depth, kept = 0, []
    for character in name:
        depth += character == "<"
        if not depth:
            kept.append(character)
        depth -= character == ">"
    return "".join(kept)


def _plain(name: str) -> str:
    """A name without spaces that do not matter."""
    return re.sub(r"\s+(?=\W)|(?<=\W)\s+", "", name.strip())


def _own_arch(target: re.Match[str], nvrtc: str) -> str:
    """The PTX's target, or the oldest one there is machine code for where that is newer."""
    oldest = min(supported_archs(nvrtc))
    return target[0] if int(target["number"]) >= oldest else f"sm_{oldest}"


def _runs_as(target: re.Match[str], arch: str, filename: str) -> str:
    """The target that the PTX is assembled for to run on ``arch``: ``arch`` itself. Only PTX for a
    target with a suffix, such as sm_90a, runs on GPUs of that number alone and keeps the suffix.

    Raises CaseError where it does not run there.
    """
    wanted = Target(arch).number
    if not wanted:
        raise CaseError(f"there is no target '{arch}'", where=filename, hint="such as sm_80")
    number = int(target["number"])
    if number > wanted or (target["suffix"] and number != wanted):
        raise CaseError(
            f"the PTX is for {target[0]}, it does not run on {arch}",
            where=filename,
            hint=f"compile it again for {arch}",
        )
    return target[0] if target["suffix"] else arch


def null_scratch(source: str, entry: str | None, filename: str, given: int) -> int:
    """How many null pointers complete ``given`` arguments of a kernel: Triton appends up to two
    pointers to scratch memory, null where it needs none.

    0 where the last parameters are no such pointers, or where the kernel reads them, which means
    that it needs the memory. Raises CaseError for text that is not PTX or has no such kernel.
    """
    found = outline(source, filename)
    module = parse_ptx(source, _entry(found.entries, entry, filename), filename)
    left = module.parameters[given:]
    if not 0 < len(left) <= _SCRATCH or any(p.type not in ("u64", "b64") for p in left):
        return 0
    read = {name for function in module.functions.values() for name in mentioned(function)}
    return 0 if read & {p.name for p in left} else len(left)


@lru_cache(maxsize=32)
def _assembled(
    text: str, target: Target, filename: str
) -> tuple[bytes, tuple[tuple[str, Spills], ...]]:
    """Machine code of the module, made once for all of its kernels."""
    made = assemble(text, target, filename)
    return made.cubin, tuple(made.spills.items())
