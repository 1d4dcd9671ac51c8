"""Which function calls which, and how calls are to be lowered.

A call is inlined, which is fastest and needs no stack. Two kinds of functions are lowered once
instead, and calls jump to them: recursive functions, and functions with so many callers that
inlining would make the program too long.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from placewise.executor.passes import cfg
from placewise.kernel.ptx import Arguments, Instruction, Symbol
from placewise.kernel.ptx.module import Function, Module, Prototype

_LIMIT = 20_000
"""Most instructions of a program with all calls inlined; longer ones take seconds to compile, so
their functions are lowered once."""


def callee_of(i: Instruction) -> tuple[str | None, Prototype | str | None]:
    """(function, prototype): the function that a call names, or the prototype of a pointer's."""
    operands = [o for o in i.operands if not isinstance(o, Arguments)]
    first = operands[0]
    if isinstance(first, Symbol):
        return first.name, None
    last = operands[-1]
    return None, last.name if isinstance(last, Symbol) else None


@dataclass(frozen=True)
class CallGraph:
    """Which functions of a module are recursive, lowered once, or reachable through pointers."""

    cycle_of: dict[str, int]
    """Recursive functions, each with the number of its cycle of calls."""
    shared: frozenset[str]
    """Functions that are lowered once, the recursive ones among them."""
    taken: tuple[Function, ...]
    """Functions whose address is taken."""

    def candidates(self, prototype: Prototype) -> list[Function]:
        """Functions that a call through a pointer of this prototype may reach."""
        return [
            f
            for f in self.taken
            if tuple(v.size for v in f.results) == prototype.results
            and tuple(v.size for v in f.parameters) == prototype.parameters
        ]


def _calls(function: Function) -> Iterator[Instruction]:
    return (i for i in function.body if isinstance(i, Instruction) and i.parts[0] == "call")


def call_graph(module: Module, entry: str) -> CallGraph:
    """Analyse the functions of ``module`` that ``entry`` may reach."""
    # Their order in the text, so that all kernels of a module try them alike.
    found_by_pointer = sorted(
        (f for f in module.functions.values() if f.name in module.taken), key=lambda f: f.line
    )
    bare = CallGraph({}, frozenset(), tuple(found_by_pointer))
    edges: dict[str, list[str]] = {}
    for function in module.functions.values():
        found = edges[function.name] = []
        for i in _calls(function):
            callee, named = callee_of(i)
            prototype = function.prototypes.get(named) if isinstance(named, str) else None
            if callee in module.functions:
                found.append(str(callee))
            elif prototype is not None:
                found += [f.name for f in bare.candidates(prototype)]
    numbers = {name: n for n, name in enumerate(edges)}
    names = list(edges)
    successors = {numbers[f]: tuple(numbers[g] for g in found) for f, found in edges.items()}
    cycle_of = {
        names[n]: at
        for at, component in enumerate(cfg.components(set(successors), successors))
        for n in component
        if len(component) > 1 or n in successors[n]
    }
    shared = set(cycle_of)
    if _expanded(module, edges, entry, cycle_of) > _LIMIT:
        callers: dict[str, int] = {}
        for found in edges.values():
            for name in found:
                callers[name] = callers.get(name, 0) + 1
        shared |= {name for name, count in callers.items() if count > 1}
    return CallGraph(cycle_of, frozenset(shared), bare.taken)


def _expanded(
    module: Module, edges: dict[str, list[str]], entry: str, cycle_of: dict[str, int]
) -> int:
    """Instructions of the program with all calls inlined, except those of recursive functions."""

    @functools.cache
    def size(name: str) -> int:
        own = len(module.functions[name].body)
        return own + sum(size(f) for f in edges[name] if f not in cycle_of)

    return sum(size(name) for name in (entry, *cycle_of))
