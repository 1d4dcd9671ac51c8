"""An unfinished rewrite: the edits so far, and what the new case and its host code will need."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.launch import AccessWindow, Argument
from placewise.kernel.source import AccessPlace, Alias, ArrayUse, SourceView, Term
from placewise.kernel.view.written_out.pieces import unique_name
from placewise.rewriter.text import EditedText, Render


@dataclass
class Draft:
    """Collects the edits of all arrays that are rewritten."""

    case: Case
    """The case, with arguments named after the kernel's parameters."""
    view: SourceView
    text: EditedText
    taken: set[str]
    """Identifiers of the source and those added so far."""
    declarations: list[str] = field(default_factory=list)
    """Lines at file scope in front of the kernel."""
    includes: list[str] = field(default_factory=list)
    """Headers of the CUDA toolkit that the file must include."""
    notes: list[str] = field(default_factory=list)
    """One line for each placed array, for the comment above the kernel."""
    entry: list[str] = field(default_factory=list)
    """Statements at the start of the body."""
    exit: list[str] = field(default_factory=list)
    """Statements at the end of the body."""
    parameters: dict[str, str | None] = field(default_factory=dict)
    """New declaration by parameter name; None where the parameter is removed."""
    arguments: dict[str, Argument | None] = field(default_factory=dict)
    """New argument by parameter name; None where the argument is removed."""
    constants: list[tuple[str, NDArray[np.generic]]] = field(default_factory=list)
    shared_bytes: int = 0
    """Dynamic shared memory of the launch."""
    static_bytes: int = 0
    """Static shared memory of the kernel's own arrays, and of the tiles so far."""
    buffer: str = ""
    """Name of the dynamic shared buffer that large tiles share; empty where there is none."""
    checks: dict[str, int] = field(default_factory=dict)
    """Dimensions of the block and arguments that sizes in the kernel depend on, with the values
    that they must have."""
    host: list[str] = field(default_factory=list)
    """Host-side lines, in order."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    filled: list[tuple[str, int, str]] = field(default_factory=list)
    """(symbol, byte in it, array) for arrays that the host copies to a symbol."""
    load_functions: dict[str, str] = field(default_factory=dict)
    """Name of each load function that is declared in the file, by the name that a space gives
    it."""
    window: AccessWindow | None = None
    """Access policy window of the launch."""
    edits: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, case: Case, view: SourceView) -> Draft:
        """An empty draft of a case, whose arguments are named after its parameters."""
        names = set(re.findall(r"[A-Za-z_]\w*", case.source))
        return cls(
            case, view, EditedText(case.source.encode()), names,
            shared_bytes=case.launch.shared_bytes, static_bytes=view.shared_bytes,
            window=case.launch.window,
        )  # fmt: skip

    def unique(self, name: str) -> str:
        """``name``, with a number appended if the source uses it already."""
        return unique_name(name, self.taken)

    def data_of(self, use: ArrayUse) -> NDArray[np.generic]:
        """The array's data in the case."""
        return next(a for a in self.case.inputs.arrays if a.name == use.name).data

    def inner(self, name: str) -> str:
        """``name`` for a variable or type of a function that is written into the file, longer where
        the file has a macro of that name."""
        while re.search(rf"#[ \t]*define[ \t]+{name}\b", self.case.source):
            name += "_"
        return name

    def replace_access(self, place: AccessPlace, make: Callable[[Render], str]) -> None:
        """Replace an access by the expression that ``make`` returns for the element. Members of the
        element stay, and so does the address-of that an atomic needs."""
        text = self.text.text
        if place.kind == "atomic" and place.form == "pointer":
            # Around the name of a local pointer, which may become an offset.
            self.text.replace(
                place.start, place.end, lambda render: f"&{make(render)}", is_outer=True
            )
        elif place.intrinsic is None:
            self.text.replace(place.start, place.end, make)
        else:
            # ``__ldg(&A[i].x)``: the text from the element to the end of the member stays.
            members = text[place.end : place.member_end].decode()
            self.text.replace(
                place.outer_start, place.outer_end, lambda render: make(render) + members
            )


def require_cuda(case: Case) -> None:
    """Raise UnsupportedError for a kernel without CUDA C++ source."""
    if case.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {case.language}, only CUDA C++ is rewritten", where=case.filename
        )


def strip_load_functions(draft: Draft, use: ArrayUse) -> None:
    """Turn every ``__ldg(&A[i])`` of the array into ``A[i]``."""
    for place in use.accesses:
        if place.intrinsic is not None:
            draft.replace_access(place, partial(_element_text, place, draft.text.text))


def _element_text(place: AccessPlace, text: bytes, render: Render) -> str:
    """The accessed element as an expression with the present pointers, without a load function."""
    if place.form != "pointer":
        return render(place.start, place.end)
    if text[place.start : place.start + 1] == b"&":
        return render(place.start + 1, place.end)
    pointer = render(place.start, place.end)
    element = f"*{pointer}" if re.fullmatch(r"\w+", pointer) else f"*({pointer})"
    # ``.x`` binds tighter than ``*``, and ``/`` before ``*`` would begin a comment: use
    # parentheses.
    before, behind = text[: place.outer_start].rstrip(), text[place.outer_end :].lstrip()
    is_bare = not behind.startswith((b".", b"->", b"[")) and not before.endswith(b"/")
    return element if is_bare else f"({element})"


def term_text(term: Term, render: Render) -> str:
    """The text of a term that follows a plus or minus sign, in parentheses where needed."""
    if term.literal:
        return f"({term.literal})" if term.literal.startswith("-") else term.literal
    inside = render(term.start, term.end)
    loose = term.very_loose or (term.sign < 0 and term.loose)
    return f"({inside})" if loose else inside


def sum_text(pointer: str | None, terms: tuple[Term, ...], render: Render) -> str:
    """``pointer + term - term …``. A single positive term stays as it is; without pointer and terms
    the text is ``0``."""
    if pointer is None and len(terms) == 1 and terms[0].sign > 0:
        return terms[0].literal or render(terms[0].start, terms[0].end)
    pieces = [] if pointer is None else [pointer]
    for term in terms:
        piece = term_text(term, render)
        if term.sign < 0:
            pieces.append(f"- {piece}" if pieces else f"-{piece}")
        else:
            pieces.append(f"+ {piece}" if pieces else piece)
    return " ".join(pieces) or "0"


def pointers_to_offsets(draft: Draft, use: ArrayUse) -> frozenset[str]:
    """Turn the array's local pointers, and the parameter if the body changes it, into offsets.

    ``const float *row = A + i * n;`` becomes ``const int row_at = i * n;``, ``row`` becomes
    ``row_at`` everywhere. Returns the names of the pointers that are offsets now.
    """
    kind = "int" if use.elements < 1 << 31 else "long long"
    # Aliases with the same name are in different blocks, so their offsets may share a name, too.
    tokens: dict[str, tuple[int, ...]] = {}
    for alias in use.aliases:
        tokens[alias.name] = (*tokens.get(alias.name, ()), *alias.tokens)
    names = {name: draft.unique(f"{name}_at") for name in tokens}
    if use.reassigned:
        names[use.name] = draft.unique(f"{use.name}_at")
        tokens[use.name] = use.tokens
        draft.entry.append(f"{kind} {names[use.name]} = 0;")
    for pointer, name in names.items():
        for token in tokens[pointer]:
            draft.text.replace(token, token + len(pointer.encode()), name)
    for alias in use.aliases:
        const = "const " if alias.fixed else ""
        declared = f"{const}{kind} {names[alias.name]}"
        draft.text.replace(
            alias.start, alias.end, partial(_offset, alias, declared, frozenset(names))
        )
    return frozenset(names)


def index_text(place: AccessPlace | Alias, offsets: frozenset[str], render: Render) -> str:
    """The index of an access, or of the element that an alias points to: the pointer's offset plus
    terms."""
    pointer = None
    if place.pointer in offsets:
        pointer = render(place.pointer_start, place.pointer_end)
    return sum_text(pointer, place.terms, render)


def _offset(alias: Alias, declared: str, offsets: frozenset[str], render: Render) -> str:
    return f"{declared} = {index_text(alias, offsets, render)};"
