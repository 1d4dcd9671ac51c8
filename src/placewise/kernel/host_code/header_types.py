"""Types that the host's headers bring along, and the headers that give them to device code.

NVRTC does not read the headers of the host's libraries, so these are left out. What a source uses
of them is found by what the compiler then misses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
"""A message of NVRTC."""
NAMESPACE = "must be a class or namespace name"
"""Words of a message of NVRTC."""
STD = re.compile(r'"std"|"std::')
"""In a message of NVRTC: a name of the C++ library is missing."""
_INCOMPLETE = re.compile(r"incomplete type|complete object type")
_INTEGERS = re.compile(r"u?int(?:_least|_fast)?(?:8|16|32|64)_t|u?int(?:ptr|max)_t")
"""Types of ``<stdint.h>``, which nearly every header of the host brings with it."""
_STD_INTEGERS = re.compile(rf"\bstd::(?:{_INTEGERS.pattern})\b")
_HEADERS = {
    "placewise_cufft.h": re.compile(r"cufft(?:Double)?(?:Real|Complex)"),
    "cuda_fp16.h": re.compile(r"(?:__)?half2?"),
    "cuda_bf16.h": re.compile(r"(?:__)?nv_bfloat162?"),
    "stdint.h": re.compile(rf"{_INTEGERS.pattern}|U?INT(?:8|16|32|64)_(?:MAX|MIN|C)|SIZE_MAX"),
}
"""Headers and the names that they define. Those of 16-bit floats come with cuBLAS."""
_NO_MEMBER = re.compile(r'namespace "std" has no member "(\w+)"')
_STD_HEADERS = {
    "limits": re.compile("numeric_limits"),
    "algorithm": re.compile("min|max|clamp"),
    "utility": re.compile("swap|pair|make_pair"),
    "type_traits": re.compile(
        "enable_if|conditional|is_same|remove_(?:cv|const|reference|pointer)"
    ),
}
"""Stand-ins for headers of the C++ library, and names in them that sources use without including
them: other headers of the host bring them along."""
_BUILT_IN = ("cuda_fp16.h", "cuda_bf16.h")
"""NVRTC knows these types by itself, so that they are incomplete, not undefined."""


def headers_of_types(messages: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """Headers that may define what the compiler misses by its ``messages`` in ``texts``."""
    undefined = [m[1] for message in messages if (m := UNDEFINED.search(message))]
    for header, names in _HEADERS.items():
        if any(names.fullmatch(name) for name in undefined):
            yield header
    if any(_INCOMPLETE.search(message) for message in messages):
        for header in _BUILT_IN:
            if any(re.search(rf"\b(?:{_HEADERS[header].pattern})\b", text) for text in texts):
                yield header
    absent = [m[1] for message in messages if (m := _NO_MEMBER.search(message))]
    for header, names in _STD_HEADERS.items():
        if any(names.fullmatch(name) for name in absent):
            yield header
    in_std = any(NAMESPACE in message or STD.search(message) for message in messages)
    if in_std and any(_STD_INTEGERS.search(text) for text in texts):
        yield "cstdint"
