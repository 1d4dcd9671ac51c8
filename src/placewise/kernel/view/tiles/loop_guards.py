"""What must change in a kernel's source so that all threads of a block reach given loops.

Every thread of the block has to reach a barrier inside a loop. So early returns and branches around
the loops become flags, and what only some threads may execute is put under such a flag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from placewise.kernel.chunks import Guard, GuardKind
from placewise.kernel.view.tree.around import PURE_CALLS, STEPS, initial_values
from placewise.kernel.view.tree.node import LOOPS, Node
from placewise.kernel.view.tree.places import expression_end, statement_end
from placewise.kernel.view.written_out.pointer_roots import changes

_JUMPS = frozenset({"BREAK_STMT", "CONTINUE_STMT"})
_VALUES = frozenset(
    {"BOOL", "CHAR_U", "CHAR_S", "UCHAR", "SCHAR", "SHORT", "USHORT", "INT", "UINT", "LONG",
     "ULONG", "LONGLONG", "ULONGLONG", "HALF", "FLOAT", "DOUBLE", "RECORD", "ELABORATED",
     "TYPEDEF"}
)  # fmt: skip
"""Kinds of types ``T`` for which ``T()`` makes a value."""
_READS = frozenset({"ARRAY_SUBSCRIPT_EXPR", "CALL_EXPR", "ASM_STMT", "LAMBDA_EXPR"})
_PLAIN_IF = re.compile(rb"if\s*\(\s*\Z")


class Unreachable(Exception):  # noqa: N818 - an answer, not an error
    """Not all threads can be made to reach a loop; the message says why."""


def loop_guards(
    body: Node, loops: Sequence[Node], text: bytes
) -> tuple[tuple[Guard, ...], dict[Node, int | None]]:
    """The guards, and the flag in force at each of the ``loops``: its position among the guards
    that make flags, None where all threads arrive anyway.

    Raises Unreachable, with the line, where a loop lies in what cannot be taken apart.
    """
    walk = _Walk(loops, text)
    walk.statements(body.children, None, ends=True)
    return tuple(walk.guards), walk.flags


def returns_inside(node: Node) -> bool:
    """Whether control may leave the kernel inside ``node``, lambdas apart."""
    if node.kind == "RETURN_STMT":
        return True
    return node.kind != "LAMBDA_EXPR" and any(returns_inside(c) for c in node.children)


def leaves_loop(node: Node) -> bool:
    """Whether a ``break`` below the loop ``node`` leaves it."""
    for child in node.children:
        if child.kind == "BREAK_STMT":
            return True
        inner = child.kind in LOOPS or child.kind in ("SWITCH_STMT", "LAMBDA_EXPR")
        if not inner and leaves_loop(child):
            return True
    return False


class _Walk:
    def __init__(self, loops: Sequence[Node], text: bytes) -> None:
        self.loops = set(loops)
        self.text = text
        self.guards: list[Guard] = []
        self.flags: dict[Node, int | None] = {}
        self.made = 0
        """Flags so far."""

    def statements(self, nodes: Sequence[Node], under: int | None, *, ends: bool) -> None:
        """Guard the statements between one pair of braces, which run under flag ``under``.
        ``ends``: nothing is executed after them."""
        last = max(i for i, node in enumerate(nodes) if self._leads(node))
        for n, node in enumerate(nodes[: last + 1]):
            if self._leads(node):
                self._path(node, under, ends=ends and n == len(nodes) - 1)
            elif _is_early_return(node):
                if not ends:
                    raise Unreachable(f"a return before other statements (line {node.line})")
                under = self._flag(GuardKind.RETURN, node, self._end(node), under)
            elif returns_inside(node):
                raise Unreachable(f"a return that is no plain early return (line {node.line})")
            elif under is not None:
                self._beside(node, under)
        tail = nodes[last + 1 :]
        if not ends and any(map(returns_inside, tail)):
            raise Unreachable(f"a return before other statements (line {tail[0].line})")
        if tail and under is not None:
            end = self._end(tail[-1])
            self.guards.append(Guard(GuardKind.STATEMENT, tail[0].start, end, under))

    def _leads(self, node: Node) -> bool:
        return any(loop.within(node) for loop in self.loops)

    def _path(self, node: Node, under: int | None, *, ends: bool) -> None:
        """A statement that is, or holds, one of the loops. ``ends``: nothing is executed after
        it."""
        if node in self.loops:
            if returns_inside(node):
                raise Unreachable(f"the loop returns (line {node.line})")
            self.flags[node] = under
        elif node.kind in ("COMPOUND_STMT", "UNEXPOSED_STMT"):
            # libclang calls a statement after a pragma an UNEXPOSED_STMT.
            self.statements(node.children, under, ends=ends)
        elif node.kind == "IF_STMT" and len(node.children) == 2:
            condition, then = node.children
            if not _PLAIN_IF.match(self.text[node.start : condition.start]):
                raise Unreachable(f"a condition that is not followed (line {node.line})")
            flag = self._flag(GuardKind.BRANCH, node, then.start, under)
            inner = then.children if then.kind == "COMPOUND_STMT" else [then]
            self.statements(inner, flag, ends=ends)
        elif node.kind == "FOR_STMT":
            if any(n.kind in _JUMPS for n in own_jumps(node)):
                raise Unreachable(f"the loop around it is left early (line {node.line})")
            loop_body = node.children[-1]
            if under is not None and not _counts_alone(node):
                raise Unreachable(f"the head of the loop around it does more (line {node.line})")
            if not self._may_be_written_to(loop_body):
                raise Unreachable(f"the loop around it has no braces (line {node.line})")
            inner = loop_body.children if loop_body.kind == "COMPOUND_STMT" else [loop_body]
            self.statements(inner, under, ends=False)
        else:
            raise Unreachable(f"the loop is in a statement that is not followed (line {node.line})")

    def _may_be_written_to(self, body: Node) -> bool:
        """Whether all that is written in the place of a loop's ``body`` belongs to it: in braces,
        or where it stays one statement."""
        if body in self.loops:
            return body.children[0].kind == "DECL_STMT"
        return body.kind in ("COMPOUND_STMT", "FOR_STMT")

    def _flag(self, kind: GuardKind, node: Node, end: int, under: int | None) -> int:
        condition = node.children[0]
        condition_end = expression_end(self.text, condition.start, b")")
        if condition_end is None:
            raise Unreachable(f"a condition that is not followed (line {node.line})")
        last = self._before_return(node) if kind is GuardKind.RETURN else (0, 0)
        self.guards.append(
            Guard(
                kind, node.start, end, under, condition=(condition.start, condition_end), last=last
            )
        )
        self.made += 1
        return self.made - 1

    def _before_return(self, node: Node) -> tuple[int, int]:
        """Where the statements of an early return stand that come before the return itself."""
        statements = _body_of_return(node)[:-1]
        return (statements[0].start, self._end(statements[-1])) if statements else (0, 0)

    def _beside(self, node: Node, under: int) -> None:
        """A statement in front of a loop, which only threads with the flag may execute."""
        if node.kind != "DECL_STMT":
            self.guards.append(Guard(GuardKind.STATEMENT, node.start, self._end(node), under))
            return
        for child in node.children:
            initial = initial_values(child)
            if child.kind != "VAR_DECL" or not initial or not reads_memory(initial[-1]):
                continue
            value = initial[-1]
            if value.bare().kind == "LAMBDA_EXPR" and not _captures_by_reading(value.bare()):
                # A lambda's body runs where it is called, and calls have guards of their own.
                continue
            separate = self.text[child.start : value.start].rstrip().endswith(b"=")
            if child.type_kind not in _VALUES or not separate:
                raise Unreachable(f"a declaration that reads memory (line {node.line})")
            type_text = re.sub(r"\b(const|volatile)\b\s*", "", child.type).strip()
            self.guards.append(
                Guard(GuardKind.VALUE, value.start, value.end, under, type_text=type_text)
            )

    def _end(self, node: Node) -> int:
        """End of a statement, its semicolon included."""
        end = statement_end(node, self.text)
        if end is None:
            raise Unreachable(f"a statement whose end is not seen (line {node.line})")
        return end


def _counts_alone(loop: Node) -> bool:
    """Whether the head of a ``for`` only declares a variable, compares and steps, so that threads
    which skip its body may go through it."""
    *head, _ = loop.children
    if not head or head[0].kind != "DECL_STMT":
        return False
    own = {d.id for d in head[0].children}
    initial = (c for d in head[0].children for c in d.children)
    if any(reads_memory(c) for c in initial):
        return False
    for part in head[1:]:
        node = part.bare()
        is_step = changes(node) and node.children[0].bare().target in own
        if any(reads_memory(c) for c in (node.children[1:] if is_step else (node,))):
            return False
    return True


def _captures_by_reading(function: Node) -> bool:
    """Whether making a lambda reads memory, as ``[v = a[i]]`` does."""
    return any(reads_memory(c) for c in function.children if c.kind != "COMPOUND_STMT")


def _is_early_return(node: Node) -> bool:
    """``if (c) { …; return; }``, braces or not, without ``else`` and other returns."""
    statements = _body_of_return(node)
    if not statements or any(map(returns_inside, statements[:-1])):
        return False
    return statements[-1].kind == "RETURN_STMT" and not statements[-1].children


def _body_of_return(node: Node) -> list[Node]:
    """Statements under an ``if`` without ``else``; none for other statements."""
    if node.kind != "IF_STMT" or len(node.children) != 2:
        return []
    then = node.children[1]
    while then.kind == "COMPOUND_STMT" and len(then.children) == 1:
        then = then.children[0]
    return list(then.children) if then.kind == "COMPOUND_STMT" else [then]


def own_jumps(statement: Node) -> list[Node]:
    """Every ``break`` and ``continue`` below a statement that concerns it, or a loop around it, not
    a loop below it."""
    found: list[Node] = []
    pending = list(statement.children)
    while pending:
        node = pending.pop()
        if node.kind in _JUMPS:
            found.append(node)
        if node.kind not in LOOPS and node.kind != "LAMBDA_EXPR":
            pending.extend(node.children)
    return found


def reads_memory(node: Node) -> bool:
    """Whether an expression may read memory, or do more than compute."""
    addressed = {n.children[0].bare() for n in node.walk() if _takes_address(n)}
    return any(
        (n.kind in _READS and n not in addressed and not _only_computes(n))
        or (n.kind == "UNARY_OPERATOR" and n.operator == "*")
        or n.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
        or n.operator in ("=", *STEPS)
        or (n.kind == "MEMBER_REF_EXPR" and n.children and n.children[0].type_kind == "POINTER")
        for n in node.walk()
    )


def _only_computes(node: Node) -> bool:
    return node.kind == "CALL_EXPR" and node.name in PURE_CALLS


def _takes_address(node: Node) -> bool:
    """``&a[i]``, which reads nothing."""
    return node.kind == "UNARY_OPERATOR" and node.operator == "&" and bool(node.children)
