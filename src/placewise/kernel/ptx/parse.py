"""A parser for PTX as NVRTC, Numba and CuPy emit it, and as inline assembly adds to it."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace

from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.ptx.body import parse_body
from placewise.kernel.ptx.lexer import tokens
from placewise.kernel.ptx.module import (
    Address,
    Arguments,
    Function,
    Instruction,
    Module,
    Operand,
    Outline,
    Symbol,
    Variable,
    Vector,
)
from placewise.kernel.ptx.stream import Stream
from placewise.kernel.ptx.variables import check_declarations, parse_parameters, parse_variable
from placewise.kernel.source_name import named_file

_FILE = re.compile(r'^[ \t]*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_SECTION = re.compile(r"^[ \t]*\.section\s", re.MULTILINE)
_LINKAGE = frozenset({".visible", ".extern", ".weak", ".common"})
_SPACES = frozenset({".global", ".const", ".shared"})


def parse_ptx(text: str, entry: str, filename: str = "<ptx>", *, bodies: bool = True) -> Module:
    """Parse ``text`` as far as ``entry`` needs: its body, and the bodies of the functions that it
    names.

    With ``bodies`` false, bodies are parsed only when they are first asked for. Long ones take a
    tenth of a second, and code that executes machine code rarely needs them. If one of the bodies
    calls through a pointer, the functions whose address is taken are needed, too. Raises CaseError,
    located by PTX line, for text that is not PTX or has no such entry.
    """
    files = {int(number): named_file(name) for number, name in _FILE.findall(text)}
    section = _SECTION.search(text)
    stream = Stream(*tokens(text[: section.start()] if section else text), filename)
    module = _TopLevel(stream)
    module.scan()
    if entry not in module.bodies:
        known = ", ".join(sorted(module.bodies)) or "none"
        raise CaseError(
            f"the PTX has no entry '{entry}'",
            where=filename,
            hint=f"functions with a body: {known}",
        )
    taken = _taken(module)
    parsed = Module(
        version=module.version,
        target=module.target,
        files=files,
        variables=module.variables,
        used=_used(module),
        parameters=module.head(entry).parameters,
        parse_functions=lambda: _functions(module, entry, taken),
        declared=frozenset(module.declared),
        function_lines={name: stream.lines[at] for name, (at, _) in module.bodies.items()},
        checksum=zlib.crc32(text.encode()),
        taken=taken,
    )
    if bodies:
        _ = parsed.functions
    return parsed


def _functions(module: _TopLevel, entry: str, taken: frozenset[str]) -> dict[str, Function]:
    """The entry and all functions that it needs."""
    functions: dict[str, Function] = {}
    seen: set[str] = set()
    wanted = [entry]
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in module.bodies:
            functions[name] = module.function(name)
            wanted.extend(mentioned(functions[name]))
            if functions[name].prototypes:
                wanted.extend(sorted(taken))
        elif name in module.variables:
            wanted.extend(symbol for _, symbol, _ in module.variables[name].relocations)
    return functions


def _taken(module: _TopLevel) -> frozenset[str]:
    """Functions named in an initial value, or by an instruction other than as what it calls.

    Such an instruction has the name among its sources (``mov.u64 %rd1, name;``). A call names it
    first, or between its results and its arguments in parentheses (PTX ISA, ``call``).
    """
    device = {name for name, (_, is_entry) in module.bodies.items() if not is_entry}
    names = {s for v in module.variables.values() for _, s, _ in v.relocations if s in device}
    if device:
        words = module.stream.words
        for at in range(1, len(words) - 2):
            if (
                words[at] in device
                and words[at - 1] == ","
                and words[at + 1 : at + 3] != [",", "("]
            ):
                names.add(words[at])
    return frozenset(names)


def _used(module: _TopLevel) -> frozenset[str]:
    """Variables whose name stands in more places than its declaration: headers declare hundreds
    that no function of the module ever reaches."""
    declared, again = set(module.variables), set()
    for word in module.stream.words:
        if word in module.variables:
            if word in declared:
                declared.discard(word)
            else:
                again.add(word)
    return frozenset(again)


def outline(text: str, filename: str = "<ptx>") -> Outline:
    """What ``text`` holds, without parsing bodies; raises CaseError located by PTX line, also for
    declarations of more registers, shared or local memory than any GPU could have."""
    section = _SECTION.search(text)
    module = _TopLevel(Stream(*tokens(text[: section.start()] if section else text), filename))
    module.scan()
    check_declarations(module.stream)
    entries = tuple(name for name, (_, is_entry) in module.bodies.items() if is_entry)
    return Outline(module.version, module.target, entries)


def mentioned(function: Function) -> list[str]:
    """Names that a body has as operands: variables, functions called or their address taken."""
    return [
        name
        for item in function.body
        if isinstance(item, Instruction)
        for operand in item.operands
        for name in _names_in(operand)
    ]


def _names_in(operand: Operand) -> list[str]:
    if isinstance(operand, Symbol):
        return [operand.name]
    if isinstance(operand, Address):
        return [operand.base.name] if isinstance(operand.base, Symbol) else []
    if isinstance(operand, Vector | Arguments):
        return [name for element in operand.elements for name in _names_in(element)]
    return []


class _TopLevel:
    """The module's outline: variables parsed, function bodies only located."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.version = ""
        self.target = ""
        self.variables: dict[str, Variable] = {}
        self.bodies: dict[str, tuple[int, bool]] = {}
        """Position of the ``.entry`` or ``.func`` token, and whether it is an entry."""
        self.declared: set[str] = set()

    def scan(self) -> None:
        s = self.stream
        while not s.at_end():
            word = s.peek()
            if word == ".version":
                s.take()
                self.version = s.take()
            elif word == ".target":
                s.take()
                self.target = s.take()
                while s.accept(","):
                    s.take()
            elif word == ".address_size":
                s.take()
                if s.take() != "64":
                    raise UnsupportedError("PTX with 32-bit addresses", where=s.where())
            elif word in _LINKAGE or word in _SPACES:
                external = False
                while s.peek() in _LINKAGE:
                    external |= s.take() == ".extern"
                if s.peek() in (".entry", ".func"):
                    self._outline()
                else:
                    for variable in parse_variable(s, external=external):
                        self.variables[variable.name] = variable
            elif word in (".entry", ".func"):
                self._outline()
            elif word == ".file":
                s.skip_line()
            elif word in (".alias", ".pragma"):
                s.skip_past(";")
            else:
                raise CaseError(f"unexpected '{word}' in PTX", where=s.where())

    def _outline(self) -> None:
        s = self.stream
        start = s.position
        is_entry = s.take() == ".entry"
        if s.peek() == "(":
            s.skip_group("(", ")")
        name = s.take()
        while s.peek() not in ("{", ";"):
            if s.peek() == "(":
                s.skip_group("(", ")")
            else:
                s.take()
        if s.accept(";"):
            self.declared.add(name)
            return
        self.bodies[name] = (start, is_entry)
        s.skip_group("{", "}")

    def head(self, name: str) -> Function:
        """One outlined function without its body, which is next in the stream."""
        s = self.stream
        s.position, is_entry = self.bodies[name]
        line = s.line()
        s.take()
        results = parse_parameters(s) if s.peek() == "(" else ()
        s.take()
        parameters = parse_parameters(s) if s.peek() == "(" else ()
        max_threads, cluster = None, 1
        while s.peek() != "{":
            word = s.take()
            if word == ".maxntid":
                max_threads = int(s.take())
                while s.accept(","):
                    max_threads *= int(s.take())
            elif word == ".reqnctapercluster":
                cluster = s.integer()
                while s.accept(","):
                    cluster *= s.integer()
        return Function(
            name=name,
            is_entry=is_entry,
            parameters=parameters,
            results=results,
            body=(),
            locals=(),
            cluster=cluster,
            max_threads=max_threads,
            line=line,
        )

    def function(self, name: str) -> Function:
        """Parse one outlined function."""
        head = self.head(name)
        body = parse_body(self.stream)
        return replace(
            head,
            body=tuple(body.items),
            locals=tuple(body.variables),
            branch_targets=body.branch_targets,
            prototypes=body.prototypes,
        )
