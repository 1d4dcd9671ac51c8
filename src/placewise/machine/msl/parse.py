"""MSL text to syntax tree; every error says where, what was expected and what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from lark import Lark, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from placewise.errors import MachineError
from placewise.machine.msl.build import build_specification
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.parse_tables import kept_tables
from placewise.machine.msl.tree import Position, Specification
from placewise.space import Way

_READABLE = {
    "TITLE": None,  # tolerated, so never asked for
    "COUNT": "a whole number",
    "MACHINE_NAME": "the machine's name",
    "BASE": "the name of a bundled machine or architecture",
    "MEMORY_NAME": "the name of a memory",
    "GONE_KIND": "memory, detail, pipe, instruction, tlb, space or dram",
    "GONE_DRAM": None,
    "GONE_NAME": "the name of what is left out",
    "SOURCE_NAME": "a name for the source",
    "CITATION": "the name of a source",
    "STRING": 'a text in "quotes"',
    "LIMIT": "the name of a limit",
    "DETAILED": "the name of a memory",
    "PIPE_NAME": "a name for the pipe",
    "OPCODE": "an opcode such as FFMA or LDS.128",
    "TLB_NAME": "a name for the TLB",
    "WORD": "a word",
    "AMOUNT": "a number",
    "UNIT": "a unit",
    "MEMORY": "the name of a memory",
    "ID": "the memory's id (a whole number)",
    "MANAGED": "Y or N (software manageable)",
    "RW": "R, W or RW",
    "DIM": "a dimension (a whole number)",
    "SIZE": "a size such as 16KB",
    "BLOCK_SIZE": "a block size such as 128B",
    "BANKS": "the number of banks",
    "LATENCY": "a latency such as 48clk or 350ns",
    "LEVEL": "the name or id of a memory",
    "SHARE_SCOPE": "a share scope (core, sm, tpc or die)",
    "FACTOR": "a concurrency factor such as 0.2",
    "SERIAL_SCOPE": "a serialization condition (warp{…}, block{…} or grid{…})",
    "UNKNOWN": "'?'",
    "NOT_APPLICABLE": "'na'",
    "OMITTED": "'om'",
    "FIELD": "the name of a field",
    "SPACE_NAME": "the space's name",
    "LETTER": "the space's letter (one capital)",
    "WAY": f"a way of access ({', '.join(tuple(Way)[:-1])} or {tuple(Way)[-1]})",
    "PATH": "the name of a data path",
    "SPACE_RW": "R or RW",
    "OR": "'||'",
    "AND": "'&&'",
    "EQUALITY": "'==' or '!='",
    "RELATION": "'<', '<=', '>' or '>='",
    "SUM": "'+' or '-'",
    "PRODUCT": "'*', '/' or '%'",
    "UNARY": None,
    "NUMBER": "a number",
    "KEYWORD": "a keyword such as address1",
    "FLOOR": None,
    "LEFT_FLOOR": None,
    "RIGHT_FLOOR": "'⌋'",
    "EQUAL": "'='",
    "SEMICOLON": "';'",
    "COMMA": "','",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LESSTHAN": "'<'",
    "MORETHAN": "'>'",
    "$END": "the end of the file",
}
"""What a person calls each terminal of the grammar; keywords are called by their own name."""

_WORDS = {
    "MANAGED": ("Y", "N"),
    "RW": ("R", "W", "RW"),
    "SHARE_SCOPE": ("core", "sm", "tpc", "die"),
    "SERIAL_SCOPE": ("warp", "block", "grid"),
    "WAY": tuple(Way),
}
"""The words a terminal consists of, for hints at misspelt ones."""

_CONSTRUCT_WORDS = (
    "MACHINE",
    "ARCHITECTURE",
    "LIKE",
    "CHANGE",
    "WITHOUT",
    "SOURCE",
    "LIMITS",
    "DETAIL",
    "PIPE",
    "INSTRUCTION",
    "TLB",
    "DRAM",
    "SPACE",
    "FROM",
    "DECLARATION",
    "INTRINSIC",
)
_ENTRY_WORDS = (
    "machine",
    "architecture",
    "change",
    "without",
    "source",
    "limits",
    "detail",
    "pipe",
    "instruction",
    "tlb",
    "dram",
    "space",
    "die",
)
_PROCESSOR_WORDS = ("DIE", "TPC", "SM", "CORE")
_LEXEME = re.compile(r'"[^"\n]*"?|[\w.]+|&&|\|\||[=!<>]=|\S')


def parse_specification(text: str, filename: str = "<machine>") -> Specification:
    """Syntax tree of an MSL file. Raises MachineError at ``filename:line:column``."""
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _readable_error(error, text, filename) from None
    try:
        return build_specification(tree, filename)
    except RecursionError:
        raise MachineError(
            "a serialization condition is nested too deeply", where=filename
        ) from None


@cache
def _parser() -> Lark:
    grammar = resources.files("placewise.machine.msl").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar.replace("@WAYS@", "|".join(Way)),
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
        cache=kept_tables("msl-tables"),
    )


def _readable_error(error: UnexpectedInput, text: str, filename: str) -> MachineError:
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
    found = _found(error, text)
    at = _place(error, text)
    candidates = [word for terminal in sorted(expected) for word in _words(terminal)]
    hint = _misspelt([found], candidates)
    if expected == {"ID"} and at.column > 1:
        # A misspelt first word of another construct is taken for the name of a memory.
        line = text.splitlines()[at.line - 1]
        hint = _misspelt(line[: at.column - 1].split()[-1:], _ENTRY_WORDS)
    if found.startswith("-") and expected & {"SIZE", "BLOCK_SIZE", "COUNT", "BANKS", "AMOUNT"}:
        hint = "figures are not negative"
    what = f"'{found}'" if found else "the end of the file"
    return located(filename, at, f"expected {_list(expected)}, found {what}", hint)


def _misspelt(words: Sequence[str], candidates: Sequence[str]) -> str | None:
    """``did you mean …?`` where the word is much like a candidate."""
    for word in words:
        close = nearest(word, candidates) if re.fullmatch(r"[A-Za-z_]\w*", word) else None
        if close and close.startswith("did you mean"):
            return close
    return None


def _found(error: UnexpectedInput, text: str) -> str:
    """The whole word at the error, which may be longer than the token the lexer tried."""
    if _at_end(error):
        return ""
    match = _LEXEME.match(text, error.pos_in_stream or 0)
    return match.group() if match else ""


def _at_end(error: UnexpectedInput) -> bool:
    return isinstance(error, UnexpectedToken) and error.token.type == "$END"


def _place(error: UnexpectedInput, text: str) -> Position:
    if _at_end(error):
        written = text.rstrip()
        return Position(written.count("\n") + 1, len(written) - (written.rfind("\n") + 1) + 1)
    return Position(error.line, error.column)


def _words(terminal: str) -> tuple[str, ...]:
    if terminal in _CONSTRUCT_WORDS or terminal in _PROCESSOR_WORDS:
        return (terminal.lower(),)
    return _WORDS.get(terminal, ())


def _list(expected: set[str]) -> str:
    """``a, b or c``, figures first and the notations for unknown figures last."""
    order = [*_READABLE]
    names = []
    for terminal in sorted(expected, key=lambda t: (order.index(t) if t in order else -1, t)):
        if terminal in _CONSTRUCT_WORDS or terminal in _PROCESSOR_WORDS:
            names.append(f"'{terminal.lower()}'")
        elif readable := _READABLE.get(terminal):
            names.append(readable)
    names = list(dict.fromkeys(names))
    if len(names) < 2:
        return names[0] if names else "something else"
    return f"{', '.join(names[:-1])} or {names[-1]}"
