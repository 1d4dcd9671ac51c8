"""Options as nvcc, NVRTC and CuPy spell them, to :class:`CompileOptions`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from placewise.errors import CaseError
from placewise.kernel.cases.case import CompileOptions, define_pairs

_WITH_VALUE = {
    "-D": "define",
    "--define-macro": "define",
    "-I": "include",
    "--include-path": "include",
    "-std": "std",
    "--std": "std",
    "-arch": "arch",
    "--gpu-architecture": "arch",
}
_PASSED = (
    "use_fast_math",
    "ftz",
    "prec-sqrt",
    "prec-div",
    "fmad",
    "maxrregcount",
    "extra-device-vectorization",
    "device-as-default-execution-space",
    "restrict",
    "extensible-whole-program",
    "device-int128",
)
"""NVRTC's options that change the code and need nothing else (NVRTC documentation, supported
compile options)."""
_SHORT = {"default-device": "device-as-default-execution-space"}
"""Names that NVRTC takes with a single hyphen only, and what they stand for."""
_WITHOUT_MEANING = (
    "lineinfo",
    "generate-line-info",
    "w",
    "disable-warnings",
    "display-error-number",
)
"""Options that are accepted and ignored: line information is always made, and options for messages
change no code."""


def parse_options(given: Sequence[str], *, arch: str, where: str) -> CompileOptions:
    """Options of a compiler's command line as :class:`CompileOptions` for ``arch``.

    ``arch`` counts, whatever architecture the options name. Raises CaseError located at ``where``
    for an option that is not known.
    """
    defines: dict[str, str] = {}
    includes: list[Path] = []
    std = "c++17"
    flags: list[str] = []
    words = list(given)
    while words:
        word = words.pop(0).strip()
        name, value = _split(word)
        kind = _WITH_VALUE.get(name)
        if kind is not None and value is None:
            if not words:
                raise CaseError(f"the option {word} has no value", where=where)
            value = words.pop(0)
        if kind == "define":
            macro, _, text = (value or "").partition("=")
            defines[macro] = text or "1"
        elif kind == "include":
            includes.append(Path(value or ""))
        elif kind == "std":
            std = value or std
        elif kind is None and not _passes(word, flags):
            raise CaseError(f"the compiler option {word} is not covered", where=where)
    return CompileOptions(
        arch=arch,
        defines=define_pairs(defines),
        include_paths=tuple(includes),
        std=std,
        flags=tuple(flags),
    )


def _split(word: str) -> tuple[str, str | None]:
    """Name and value of an option that takes one, however they are joined."""
    name, equals, value = word.partition("=")
    if equals and name in _WITH_VALUE:
        return name, value
    for short in ("-D", "-I"):
        if word.startswith(short) and len(word) > len(short):
            return short, word[len(short) :]
    return word, None


def _passes(word: str, flags: list[str]) -> bool:
    """Whether the option needs no more than to be handed on, or nothing at all."""
    name, equals, value = word.lstrip("-").partition("=")
    if name in _WITHOUT_MEANING or not word:
        return True
    name = _SHORT.get(name, name)
    if name not in _PASSED or not word.startswith("-"):
        return False
    flags.append(f"--{name}{equals}{value}")
    return True
