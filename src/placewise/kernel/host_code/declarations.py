"""Where the declarations of a C++ file begin and end, found without parsing it.

The scan is lexical, so that it also holds for text that no compiler at hand accepts. It follows
braces, namespaces, ``extern "C"`` blocks and class bodies; of the branches of a conditional that
cuts through a declaration it takes each as a way to continue from the same place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from placewise.kernel.host_code.tokens import Token, tokens

_CLASS = frozenset({"struct", "class", "union", "enum"})
_OPEN = {"(": ")", "[": "]", "{": "}"}
_ATTRIBUTES = frozenset(
    {"__launch_bounds__", "__attribute__", "__declspec", "alignas", "__align__", "decltype",
     "__maxnreg__", "__cluster_dims__", "noexcept", "explicit"}
)  # fmt: skip
"""Words that take parentheses before a function's name."""


@dataclass(eq=False)
class Declaration:
    """One declaration: offsets in characters, the first token to the last, ``;`` included."""

    start: int
    end: int
    kind: str
    """function, class, or other (variables, typedefs, prototypes, using …)."""
    name: str
    """Name of a function, class or variable, one word; empty where there is none."""
    spelling: str
    """The name with the qualifiers that it is declared with: ``View::~View``."""
    words: frozenset[str]
    """Identifiers of its head: everything before the body or the initial value."""
    callable: bool = False
    """A function, constructor or destructor, or the declaration of one."""
    constexpr_at: int | None = None
    """Offset of the head's ``constexpr``."""
    parent: Declaration | None = None
    """The class that it is a member of."""
    torn: bool = False
    """A class that a conditional cuts through, so that its end is not known."""
    members: list[Declaration] = field(default_factory=list)


def declarations(text: str) -> tuple[Declaration, ...]:
    """The declarations of namespace scope, class members nested, in the order of the text."""
    scan = _Scan(list(tokens(text)))
    found: list[Declaration] = []
    while scan.at < len(scan.tokens):
        scan.scope(found, None)
        # A closing brace too many, such as that of a conditional's other branch.
        scan.at += 1
    return tuple(found)


def innermost(found: tuple[Declaration, ...], offset: int) -> Declaration | None:
    """The smallest declaration that holds the character at ``offset``."""
    for one in found:
        if one.start <= offset < one.end:
            return innermost(tuple(one.members), offset) or one
    return None


def walk(found: tuple[Declaration, ...] | list[Declaration]) -> Iterator[Declaration]:
    """All declarations, members after their class."""
    for one in found:
        yield one
        yield from walk(one.members)


class _Scan:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0

    def scope(self, into: list[Declaration], parent: Declaration | None) -> None:
        """Declarations up to the closing brace of this scope, or the end of the text."""
        conditionals: list[int] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "}":
                return
            if token.kind == "directive" and parent is not None:
                began_before = not conditionals and token.directive in ("else", "elif", "endif")
                parent.torn = parent.torn or began_before
                _branch(token.directive, 0, conditionals)
            if token.kind == "directive" or token.text == ";" or self.access_label():
                self.at += 1
            else:
                self.declaration(into, parent)

    def access_label(self) -> bool:
        after = self.tokens[self.at + 1 : self.at + 2]
        is_label = self.tokens[self.at].text in ("public", "private", "protected")
        if is_label and after and after[0].text == ":":
            self.at += 1
            return True
        return False

    def declaration(self, into: list[Declaration], parent: Declaration | None) -> None:
        head: list[Token] = []
        first = self.tokens[self.at]
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "directive":
                self.at += 1
            elif token.text == "template" and not head:
                head.append(token)
                self.at += 1
                self.template_header(head)
            elif token.text in ("(", "["):
                self.group(head)
            elif token.text == "=" and not _names_operator(head):
                # A default or deleted function ends here as well.
                self.to_semicolon()
                into.append(_made(first, self.last(), "other", head, parent))
                return
            elif token.text == ";":
                self.at += 1
                into.append(_made(first, token, "other", head, parent))
                return
            elif token.text == "}":
                if head:
                    into.append(_made(first, head[-1], "other", head, parent))
                return
            elif token.text == "{":
                if self.block(first, head, into, parent):
                    return
            else:
                head.append(token)
                self.at += 1
        if head:
            into.append(_made(first, head[-1], "other", head, parent))

    def block(
        self,
        first: Token,
        head: list[Token],
        into: list[Declaration],
        parent: Declaration | None,
    ) -> bool:
        """Read what a ``{`` after ``head`` opens; returns whether the declaration ends with it."""
        words = [t.text for t in head if t.kind != "inner"]
        if "namespace" in words[:2] or (
            words[:1] == ["extern"] and len(head) == 2 and head[1].kind == "literal"
        ):
            self.at += 1
            self.scope(into, parent)
            self.at += 1
            return True
        if _is_class(words):
            made = _made(first, self.tokens[self.at], "class", head, parent)
            self.at += 1
            if "enum" in words:
                self.at -= 1
                self.skip()
            else:
                self.scope(made.members, made)
                self.at += 1
            self.to_semicolon()
            made.end = self.last().end
            into.append(made)
            return True
        if _in_initializer_list(words) or "(" not in words:
            # A member's or a variable's braces; the declaration goes on.
            self.skip()
            head.append(self.last())
            return False
        self.skip()
        into.append(_made(first, self.last(), "function", head, parent))
        return True

    def template_header(self, head: list[Token]) -> None:
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text in ("(", "["):
                self.group(head)
                continue
            if depth == 0 and token.text != "<":
                return
            # >>> and < as an operator are rare enough here to be taken as brackets.
            depth += {"<": 1, ">": -1, ">>>": -3}.get(token.text, 0)
            head.append(Token(token.kind, " " if token.text in _CLASS else token.text, token.start))
            self.at += 1
            if depth <= 0:
                return

    def group(self, head: list[Token]) -> None:
        """Appends a bracketed group to the head, its inner tokens marked as such."""
        start = self.at
        self.skip()
        head.append(self.tokens[start])
        for token in self.tokens[start + 1 : self.at - 1]:
            if token.kind == "word":
                head.append(Token("inner", token.text, token.start))
        head.append(self.last())

    def skip(self) -> None:
        """Move past the bracketed group that opens here.

        A conditional's next branch starts at the depth at which the first one did; where that
        was before the group, the branch opens the group once more.
        """
        opening = self.tokens[self.at].text
        closing = _OPEN[opening]
        depth = 0
        conditionals: list[int] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "directive":
                depth = _branch(token.directive, depth, conditionals)
            elif token.text == opening:
                depth += 1
            elif token.text == closing:
                depth -= 1
                if depth <= 0:
                    return

    def to_semicolon(self) -> None:
        while self.at < len(self.tokens):
            text = self.tokens[self.at].text
            if text in _OPEN:
                self.skip()
                continue
            if text == "}":
                return
            self.at += 1
            if text == ";":
                return

    def last(self) -> Token:
        return self.tokens[min(self.at, len(self.tokens)) - 1]


def _names_operator(head: list[Token]) -> bool:
    """Whether a ``=`` after ``head`` belongs to a name such as ``operator+=``."""
    words = [t.text for t in head[-3:]]
    return "operator" in words and "(" not in words


def _branch(directive: str, depth: int, conditionals: list[int]) -> int:
    if directive in ("if", "ifdef", "ifndef"):
        conditionals.append(depth)
    elif directive in ("else", "elif", "elifdef", "elifndef"):
        return conditionals[-1] if conditionals else 0
    elif directive == "endif" and conditionals:
        conditionals.pop()
    return depth


def _is_class(words: list[str]) -> bool:
    """Whether a ``{`` after these words opens a class or enumeration, not a function of such a
    type: a name and bases have no parentheses, attributes do."""
    return bool(_CLASS.intersection(words)) and (
        "(" not in words or bool(_ATTRIBUTES.intersection(words[: words.index("(")]))
    )


def _in_initializer_list(words: list[str]) -> bool:
    if ")" not in words or words[-1] in (")", "}"):
        return False
    colon = len(words) - 1 - words[::-1].index(":") if ":" in words else -1
    return colon > words.index(")") and words[-1] not in ("const", "noexcept", "override")


def _made(
    first: Token, last: Token, kind: str, head: list[Token], parent: Declaration | None
) -> Declaration:
    parenthesis = _name_parenthesis(head)
    at = 0 if parenthesis is None else _name_before(head, parenthesis)
    spelling = ""
    if kind == "class":
        name = next((t.text for t in reversed(head) if t.kind == "word" and t.text != "final"), "")
        if ":" in [t.text for t in head]:
            colon = [t.text for t in head].index(":")
            name = next((t.text for t in reversed(head[:colon]) if t.kind == "word"), name)
    elif parenthesis is not None:
        name = head[at].text
        spelling = _qualifiers(head[:at]) + name
    else:
        name = next((t.text for t in reversed(head) if t.kind == "word"), "")
    # A name without a type before it is that of a constructor, or of a macro, which may be
    # anything.
    is_constructor = parent is not None and name == parent.name
    typed = parenthesis is not None and (at > 0 or is_constructor)
    return Declaration(
        start=first.start,
        end=last.end,
        kind=kind,
        name=name,
        spelling=spelling or name,
        words=frozenset(t.text for t in head if t.kind == "word"),
        callable=kind == "function" or (kind == "other" and typed),
        constexpr_at=next(
            (t.start for t in head if t.kind == "word" and t.text == "constexpr"), None
        ),
        parent=parent,
    )


def _qualifiers(head: list[Token]) -> str:
    """What belongs to the name after ``head``: classes and namespaces, the ``~`` of a
    destructor."""
    found = ""
    for token in reversed(head):
        expected = token.kind == "word" if found.startswith("::") else token.text in ("::", "~")
        if not expected:
            break
        found = token.text + found
    return found


def _name_before(head: list[Token], parenthesis: int) -> int:
    """Index of what stands before a parenthesis, or before template arguments there."""
    depth = 0
    for at in range(parenthesis - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(head[at].text, 0)
        if depth == 0:
            return at - 1 if head[at].text == "<" else at
    return parenthesis - 1


def _name_parenthesis(head: list[Token]) -> int | None:
    """Index of the parenthesis after a function's name."""
    for i in range(1, len(head)):
        before = head[_name_before(head, i)]
        if head[i].text != "(" or before.kind != "word" or before.text in _ATTRIBUTES:
            continue
        behind = next((j + 1 for j in range(i, len(head)) if head[j].text == ")"), len(head))
        is_pointer = head[behind : behind + 1] and head[behind].text == "("
        if not is_pointer or before.text == "operator":
            return i
    return None
