"""Functions of libclang that its Python binding of version 18 leaves out."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from clang import cindex

_BINARY = (
    "", ".*", "->*", "*", "/", "%", "+", "-", "<<", ">>", "<=>", "<", ">", "<=", ">=", "==", "!=",
    "&", "^", "|", "&&", "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|=",
    ",",
)  # fmt: skip
"""Spelling by libclang's CXBinaryOperatorKind."""
_UNARY = ("", "p++", "p--", "++", "--", "&", "*", "+", "-", "~", "!")
"""Spelling by libclang's CXUnaryOperatorKind; p marks the postfix forms."""
_CONSTANT_KINDS = frozenset(
    {"INTEGER_LITERAL", "CHARACTER_LITERAL", "CXX_BOOL_LITERAL_EXPR", "CXX_UNARY_EXPR",
     "DECL_REF_EXPR", "MEMBER_REF_EXPR"}
)  # fmt: skip
INTEGERS = frozenset(
    {"BOOL", "CHAR_U", "CHAR_S", "UCHAR", "SCHAR", "SHORT", "USHORT", "INT", "UINT", "LONG",
     "ULONG", "LONGLONG", "ULONGLONG", "ENUM"}
)  # fmt: skip
_EVALUATED_INTEGER = 1
"""CXEval_Int."""


def operator(cursor: Any, kind: str) -> str:
    """Spelling of the operator of a cursor of this kind; empty where it has none."""
    if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
        return _BINARY[library().clang_getCursorBinaryOperatorKind(cursor)]
    if kind == "UNARY_OPERATOR":
        return _UNARY[library().clang_getCursorUnaryOperatorKind(cursor)]
    return ""


def constant(cursor: Any, kind: str, type_kind: str) -> int | None:
    """Value of an integer constant expression, or None."""
    # libclang 18 aborts on some expressions of other types, such as an array without a length.
    if kind not in _CONSTANT_KINDS or type_kind not in INTEGERS:
        return None
    lib = library()
    result = lib.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        if lib.clang_EvalResult_getKind(result) != _EVALUATED_INTEGER:
            return None
        return int(lib.clang_EvalResult_getAsLongLong(result))
    finally:
        lib.clang_EvalResult_dispose(result)


def is_initialised(variable: Any) -> bool:
    """Whether a variable's declaration spells out a value for it."""
    value = library().clang_Cursor_getVarDeclInitializer(variable)
    # A constructor that is called without a word stands at the name.
    name_end = variable.location.offset + len(variable.spelling)
    return bool(value.kind.is_expression() and value.extent.end.offset > name_end)


def skipped_ranges(unit: Any, filename: str) -> list[tuple[Any, Any]]:
    """Start and end location of everything in a file that the preprocessor left out."""
    lib = library()
    ranges = lib.clang_getSkippedRanges(unit, unit.get_file(filename))
    if not ranges:
        return []
    try:
        found = [ranges.contents.ranges[i] for i in range(ranges.contents.count)]
        return [(r.start, r.end) for r in found]
    finally:
        lib.clang_disposeSourceRangeList(ranges)


class _RangeList(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange)))


@cache
def library() -> Any:
    """libclang with the types of these functions set."""
    library = cindex.conf.lib
    pointer = ctypes.c_void_p
    library.clang_getCursorBinaryOperatorKind.argtypes = [cindex.Cursor]
    library.clang_getCursorUnaryOperatorKind.argtypes = [cindex.Cursor]
    library.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
    library.clang_Cursor_Evaluate.restype = pointer
    library.clang_Cursor_getVarDeclInitializer.argtypes = [cindex.Cursor]
    library.clang_Cursor_getVarDeclInitializer.restype = cindex.Cursor
    library.clang_EvalResult_getKind.argtypes = [pointer]
    library.clang_EvalResult_getAsLongLong.argtypes = [pointer]
    library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
    library.clang_EvalResult_dispose.argtypes = [pointer]
    library.clang_EvalResult_dispose.restype = None
    unsigned = ctypes.POINTER(ctypes.c_uint)
    file = ctypes.POINTER(cindex.c_object_p)
    library.clang_getFileLocation.argtypes = [
        cindex.SourceLocation, file, unsigned, unsigned, unsigned
    ]  # fmt: skip
    library.clang_getFileLocation.restype = None
    library.clang_getSkippedRanges.argtypes = [cindex.TranslationUnit, cindex.File]
    library.clang_getSkippedRanges.restype = ctypes.POINTER(_RangeList)
    library.clang_disposeSourceRangeList.argtypes = [ctypes.POINTER(_RangeList)]
    library.clang_disposeSourceRangeList.restype = None
    return library
