"""Device functions that take a kernel's arrays, written out where the kernel calls them.

A rewrite follows an array through the kernel's body alone. With the body of a called function in
place of the call it follows the array there, too, and the function itself stays as it is for its
other callers. The meaning does not change: arguments become local variables in a block of their
own, and names that would clash get new ones.
"""

from __future__ import annotations

import re

from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import balanced
from placewise.kernel.view.tree.template import template_parameters
from placewise.kernel.view.written_out.pieces import Piece, WrittenOut, unique_name, write_out
from placewise.kernel.view.written_out.pointer_roots import changes

_WORD = re.compile(rb"[A-Za-z_]\w*")
_BLOCKED = frozenset(
    {"GOTO_STMT", "INDIRECT_GOTO_STMT", "LABEL_STMT", "LAMBDA_EXPR", "CXX_TRY_STMT"}
)
"""What cannot stand in another function, or hides which variables it names."""
_UNSEQUENCED = frozenset(
    {"UNEXPOSED_EXPR", "PAREN_EXPR", "CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR",
     "CXX_FUNCTIONAL_CAST_EXPR", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR",
     "UNARY_OPERATOR", "CALL_EXPR", "ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR", "VAR_DECL",
     "DECL_STMT", "RETURN_STMT"}
)  # fmt: skip
"""Nodes all of whose operands are evaluated, in an order that C++ leaves open."""
_NAMES = frozenset(
    {"TYPEDEF_DECL", "TYPE_ALIAS_DECL", "STRUCT_DECL", "CLASS_DECL", "UNION_DECL", "ENUM_DECL",
     "ENUM_CONSTANT_DECL", "USING_DECLARATION"}
)  # fmt: skip
"""What gives names besides variables; a name inside the kernel hides that outside."""
_SEQUENCED = frozenset({"&&", "||", ",", "<<", ">>"})
_BODIES = frozenset({"IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT"})


def inline_calls(kernel: ParsedKernel) -> WrittenOut | None:
    """The kernel's file with the calls written out that take its arrays; None where there are
    none, or none that can be."""
    inliner = _Inliner(kernel)
    inliner.run()
    return write_out(kernel.text, inliner.pieces)


class _Inliner:
    def __init__(self, kernel: ParsedKernel) -> None:
        self.kernel = kernel
        self.text = kernel.text
        self.functions = {f.id: f for f in kernel.functions if f.kind == "FUNCTION_DECL"}
        declared = [n for n in kernel.body.walk() if n.kind in ("VAR_DECL", "PARM_DECL")]
        self.own_names = {n.name for n in (*kernel.parameters, *declared)}
        template = template_parameters(kernel.text, kernel.instance, kernel.signature_start)
        self.own_names |= {t.name for t in template}
        self.hidden = {n.name for n in kernel.body.walk() if n.kind in _NAMES}
        self.hidden |= {t.name for t in template} | kernel.ambiguous
        self.pointers = {n.id for n in (*kernel.parameters, *declared) if n.type_kind == "POINTER"}
        self.taken = {word.decode() for word in _WORD.findall(self.text)}
        self.pieces: list[Piece] = []
        self.wrapped: set[int] = set()

    def run(self) -> None:
        """Write out the outermost calls; those in their arguments and bodies follow in the next
        round."""
        end = -1
        for call in self.kernel.body.walk():
            if call.kind != "CALL_EXPR" or call.start < end:
                continue
            function = self.functions.get(call.target)
            if function is None or not self.takes_array(function, call):
                continue
            if self.can_inline(function, call):
                self.inline(function, call)
                end = call.end

    def takes_array(self, function: Node, call: Node) -> bool:
        for parameter, argument in zip(function.parameters, call.children[1:], strict=False):
            by_reference = parameter.type_kind == "LVALUEREFERENCE" and not (
                parameter.type.startswith("const ")
            )
            if parameter.type_kind != "POINTER" and not by_reference:
                continue
            if any(n.target in self.pointers for n in argument.walk() if n.kind == "DECL_REF_EXPR"):
                return True
        return False

    def can_inline(self, function: Node, call: Node) -> bool:
        body, parameters = function.children[-1], function.parameters
        if body.kind != "COMPOUND_STMT" or body.start < 0 or not self.is_plain(body):
            return False
        if len(parameters) != len(call.children) - 1 or not all(p.name for p in parameters):
            return False
        if any(self.range(p).count(b"[") > 1 for p in parameters):
            return False  # points to arrays
        written = [call, *call.children[1:], *parameters]
        if not all(n.start >= 0 and n.end > n.start and self.is_plain(n) for n in written):
            return False
        called = function.name.encode()
        if not self.text[call.start : call.end].startswith(called):
            return False  # in a namespace, or from a macro
        return self.can_stand_elsewhere(function, body)

    def can_stand_elsewhere(self, function: Node, body: Node) -> bool:
        """Whether the function's body means the same in the place of a call."""
        declared = [n for n in function.walk() if n.kind in ("VAR_DECL", "PARM_DECL")]
        inside = {n.id for n in declared}
        words = {word.decode() for word in _WORD.findall(self.range(function))}
        if self.hidden & (words - {function.name, *(n.name for n in declared)}):
            return False
        for node in body.walk():
            if node.kind in _BLOCKED or node.target == function.id:
                return False
            if node.kind == "VAR_DECL" and self.is_static(node):
                return False
            if node.kind == "DECL_REF_EXPR":
                if node.target not in inside and node.name in self.own_names:
                    return False
                if node.target in inside and self.range(node) != node.name.encode():
                    return False
        return _result_type(function) is not None and not self.redefines(body)

    def may_be_ahead(self, function: Node, call: Node, statement: Node) -> bool:
        """Whether the parts of a statement that are evaluated before a call in it neither change
        anything nor read what the call may change."""
        earlier: list[Node] = []
        node = call
        for outer in call.above():
            if node is statement:
                break
            if outer.operator != "=" and outer.kind != "COMPOUND_ASSIGNMENT_OPERATOR":
                earlier += [c for c in outer.children if c.end <= node.start]
            node = outer
        given = {n.target for n in call.walk() if n.kind == "DECL_REF_EXPR"} - {0}
        changing = any(map(_is_writable, function.parameters))
        for one in (n for part in earlier for n in part.walk()):
            if changes(one) or (one.kind == "CALL_EXPR" and self.may_change(one)):
                return False
            reads = one.kind in ("ARRAY_SUBSCRIPT_EXPR", "CALL_EXPR") or one.operator == "*"
            if changing and (reads or (one.kind == "DECL_REF_EXPR" and one.target in given)):
                return False
        return True

    def may_change(self, call: Node) -> bool:
        function = self.functions.get(call.target)
        if function is None:
            return call.name.startswith("atomic")
        return any(map(_is_writable, function.parameters))

    def is_plain(self, node: Node) -> bool:
        return balanced(self.range(node))

    def is_static(self, node: Node) -> bool:
        shared = any(c.kind in ("CUDASHARED_ATTR", "CUDACONSTANT_ATTR") for c in node.children)
        statement = node.parent if node.parent is not None else node
        return shared or self.range(statement).lstrip().startswith((b"static", b"extern"))

    def redefines(self, body: Node) -> bool:
        """Whether a macro of the body may mean something else where the kernel stands."""
        first = min(body.start, self.kernel.body.start)
        between = self.text[first : max(body.start, self.kernel.body.start)]
        words = set(_WORD.findall(self.range(body)))
        changed = re.findall(rb"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", between, re.M)
        return bool(words & set(changed))

    def range(self, node: Node) -> bytes:
        return self.text[node.start : node.end]

    def line(self, at: int) -> int:
        return self.text.count(b"\n", 0, at) + 1

    def inline(self, function: Node, call: Node) -> None:
        statement = _statement(call)
        if statement is not None and not self.may_be_ahead(function, call, statement):
            statement = None
        returns = [n for n in function.children[-1].walk() if n.kind == "RETURN_STMT"]
        last = function.children[-1].children[-1:]
        if statement is None or (returns and returns != last):
            self.as_lambda(function, call)
        elif statement is call:
            self.as_block(function, call)
        elif returns:
            self.ahead(function, call, statement)
        else:
            self.as_lambda(function, call)

    def as_lambda(self, function: Node, call: Node) -> None:
        """``[&]() -> float { … }()`` in place of the call."""
        at, indent = self.line(call.start), self.indent(call.start)
        head = f"[&]() -> {_result_type(function)} {{".encode()
        lines = self.body_lines(function, call, indent + b"    ", None)
        self.pieces.append(Piece(call.start, call.end, ((head, at), *lines, (indent + b"}()", at))))

    def as_block(self, function: Node, call: Node) -> None:
        """A block in place of a call that is a statement of its own, semicolon included."""
        at, indent = self.line(call.start), self.indent(call.start)
        lines = self.body_lines(function, call, indent + b"    ", "")
        semicolon = re.compile(rb"\s*;").match(self.text, call.end)
        end = semicolon.end() if semicolon else call.end
        head = b"{ // " + self.comment(call)
        self.pieces.append(Piece(call.start, end, ((head, at), *lines, (indent + b"}", at))))

    def ahead(self, function: Node, call: Node, statement: Node) -> None:
        """A block ahead of the statement that leaves its result in a variable."""
        at, indent = self.line(call.start), self.indent(statement.start)
        result = self.unique(f"{function.name}_result")
        lines: list[tuple[bytes, int]] = []
        in_block = statement.parent is not None and statement.parent.kind == "COMPOUND_STMT"
        if not in_block and statement.start not in self.wrapped:
            self.wrapped.add(statement.start)
            lines.append((b"{", at))
            end = self.end_of(statement)
            close = self.indent(statement.start)
            self.pieces.append(
                Piece(end, end, ((b"", self.line(end)), (close + b"}", self.line(end))))
            )
            lines.append((indent, at))
        declared = f"{_result_type(function)} {result}; // ".encode() + self.comment(call)
        lead = lines.pop()[0] if lines else b""
        lines.append((lead + declared, at))
        lines.append((indent + b"{", at))
        lines += self.body_lines(function, call, indent + b"    ", result)
        lines += [(indent + b"}", at), (indent, at)]
        self.pieces.append(Piece(statement.start, statement.start, tuple(lines)))
        self.pieces.append(Piece(call.start, call.end, ((result.encode(), at),)))

    def end_of(self, statement: Node) -> int:
        """End of a statement, its semicolon included."""
        if self.text[statement.end - 1 : statement.end] in (b";", b"}"):
            return statement.end
        semicolon = re.compile(rb"\s*;").match(self.text, statement.end)
        return semicolon.end() if semicolon else statement.end

    def body_lines(
        self, function: Node, call: Node, indent: bytes, result: str | None
    ) -> list[tuple[bytes, int]]:
        """The arguments as local variables, and the body: its last ``return`` becomes an assignment
        to ``result``, or stays where that is None."""
        at, names = self.line(call.start), self.new_names(function, call)
        lines = []
        for parameter, argument in zip(function.parameters, call.children[1:], strict=True):
            name = names.get(parameter.id, parameter.name).encode()
            value = b" ".join(self.range(argument).split())
            lines.append((indent + self.declared(parameter, name) + b" = " + value + b";", at))
        body = function.children[-1]
        edits = [
            (at, at + len(n.name.encode()), names[id_].encode())
            for n in body.walk()
            for id_, at in ((n.target, n.start), (n.id, n.location))
            if id_ in names and n.kind == ("DECL_REF_EXPR" if id_ == n.target else "VAR_DECL")
        ]
        if result is not None:
            edits += [_assigned(n, self.text, result) for n in body.children[-1:]
                      if n.kind == "RETURN_STMT"]  # fmt: skip
        inner = self.edited(body.start + 1, body.end - 1, edits)
        return lines + _indented(inner, self.line(body.start), indent)

    def edited(self, start: int, end: int, edits: list[tuple[int, int, bytes]]) -> bytes:
        out, at = b"", start
        for first, last, new in sorted(set(edits)):
            out += self.text[at:first] + new
            at = last
        return out + self.text[at:end]

    def new_names(self, function: Node, call: Node) -> dict[int, str]:
        """New names of the function's variables by their identity, where an argument or the kernel
        has the name, too: code that a rewrite adds names the kernel's."""
        words = {w.decode() for a in call.children[1:] for w in _WORD.findall(self.range(a))}
        declared = [n for n in function.walk() if n.kind in ("VAR_DECL", "PARM_DECL")]
        return {
            n.id: self.unique(f"{function.name}_{n.name}")
            for n in declared
            if n.name in words | self.own_names
        }

    def declared(self, parameter: Node, name: bytes) -> bytes:
        """The parameter's declaration under a name; of ``float a[]`` the pointer that it is."""
        text = self.range(parameter)
        at = parameter.location - parameter.start
        if b"[" in text[at:]:
            return text[:at] + b"*" + name
        return text[:at] + name + text[at + len(parameter.name.encode()) :]

    def comment(self, call: Node) -> bytes:
        return b" ".join(self.range(call).split()) + b", written out"

    def indent(self, at: int) -> bytes:
        start = self.text.rfind(b"\n", 0, at) + 1
        line = self.text[start:at]
        return line[: len(line) - len(line.lstrip())]

    def unique(self, name: str) -> str:
        return unique_name(name, self.taken)


def _is_writable(parameter: Node) -> bool:
    refers = parameter.type_kind in ("POINTER", "LVALUEREFERENCE")
    return refers and not parameter.type.startswith("const ")


def _result_type(function: Node) -> str | None:
    """Type of what a function returns; None where a variable of it cannot be declared ahead."""
    found = function.type.partition("(")[0].strip()
    return None if not found or "&" in found else found


def _statement(call: Node) -> Node | None:
    """The statement ahead of which the call may be evaluated, the call itself where it is one; None
    where something decides whether, how often or when it is evaluated."""
    node = call
    for outer in call.above():
        if outer.kind == "COMPOUND_STMT":
            return node
        if outer.kind in _BODIES:
            is_condition = outer.kind == "IF_STMT" and node is outer.children[0]
            if is_condition:
                return outer if _is_own(outer) else None
            ahead = outer.children[1:] if outer.kind == "IF_STMT" else outer.children[-1:]
            if outer.kind == "DO_STMT":
                ahead = outer.children[:1]
            is_body = any(node is c for c in ahead)
            return node if is_body and node.kind != "DECL_STMT" else None
        if outer.kind not in _UNSEQUENCED or outer.operator in _SEQUENCED:
            return None
        if outer.kind == "DECL_STMT" and len(outer.children) != 1:
            return None
        node = outer
    return None


def _is_own(statement: Node) -> bool:
    """Whether a statement stands in a block, not after an ``else``."""
    return statement.parent is not None and statement.parent.kind == "COMPOUND_STMT"


def _assigned(node: Node, text: bytes, result: str) -> tuple[int, int, bytes]:
    """The edit that makes ``return value`` an assignment, or nothing of a bare ``return``."""
    keyword = node.start + len(b"return")
    if not node.children:
        return node.start, keyword, b""
    blank = len(text[keyword : node.end]) - len(text[keyword : node.end].lstrip())
    return node.start, keyword + blank, f"{result} = ".encode()


def _indented(inner: bytes, first: int, indent: bytes) -> list[tuple[bytes, int]]:
    """Lines of a body, whose first stands in line ``first``, at another indentation."""
    numbered = [(text.rstrip(), first + n) for n, text in enumerate(inner.split(b"\n"))]
    numbered[0] = (numbered[0][0].lstrip(), first)
    while numbered and not numbered[0][0]:
        del numbered[0]
    while numbered and not numbered[-1][0]:
        del numbered[-1]
    depths = [_depth(text) for text, line in numbered if text and line != first]
    least = min(depths, default=0)
    return [
        (b"" if not text else indent + text[min(_depth(text), least) :], line)
        for text, line in numbered
    ]


def _depth(text: bytes) -> int:
    return len(text) - len(text.lstrip())
