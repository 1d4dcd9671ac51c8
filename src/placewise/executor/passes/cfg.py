"""Orders the control-flow graph for execution by warps, and finds its loops and live registers.

When lanes of a warp diverge, the block that comes first in the order runs next, of all blocks that
lanes wait to enter. So diverged lanes reconverge where their paths meet. Reverse post-order does
this for structured code; visiting the exits of a loop before its body keeps a loop's blocks
together and puts the code behind the loop after them.
"""

from __future__ import annotations

from dataclasses import replace

from placewise.executor.ir.nodes import (
    Barrier,
    Block,
    Branch,
    Exit,
    Jump,
    Node,
    Program,
    Reg,
    Switch,
    Terminator,
)
from placewise.executor.passes.spin_loops import order_spin_loops
from placewise.executor.passes.waiting_loops import waiting_blocks


def prepare(program: Program) -> Program:
    """Drop unreachable blocks, merge chains, and order the blocks of ``program``.

    Block 0 stays the entry. Also finds the loops that wait for other warps.
    """
    blocks = _merge_chains(_reachable(program.blocks))
    by_number = {b.number: b for b in blocks}
    around = loops({b.number: b.successors() for b in blocks})
    order = order_spin_loops(by_number, _order(blocks, around), around)
    waiting = waiting_blocks(by_number, around)
    position = {number: at for at, number in enumerate(order)}
    ordered = []
    for number in order:
        block = by_number[number]
        block.terminator = _renumber(block.terminator, position)
        block.number = position[number]
        ordered.append(block)
    return replace(program, blocks=ordered, waiting=frozenset(position[n] for n in waiting))


def _reachable(blocks: list[Block]) -> list[Block]:
    by_number = {b.number: b for b in blocks}
    seen = {0}
    stack = [0]
    while stack:
        for s in by_number[stack.pop()].successors():
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return [b for b in blocks if b.number in seen]


def _merge_chains(blocks: list[Block]) -> list[Block]:
    """Append each block to its only predecessor if that predecessor ends in a jump to it."""
    by_number = {b.number: b for b in blocks}
    predecessors: dict[int, int] = {}
    for b in blocks:
        for s in b.successors():
            predecessors[s] = predecessors.get(s, 0) + 1
    merged: set[int] = set()
    for b in blocks:
        if b.number in merged:
            continue
        while isinstance(b.terminator, Jump):
            target = b.terminator.target
            if target in (0, b.number) or predecessors[target] != 1:
                break
            _append(b, by_number[target])
            merged.add(target)
    return [b for b in blocks if b.number not in merged]


def _append(first: Block, second: Block) -> None:
    """Append ``second`` to ``first``; reads of registers that ``first`` set become their values."""
    present: dict[Reg, Node] = {}
    for n in first.nodes:
        if n.op == "set":
            present[n.reg] = n.args[0]
    rewritten = {n.attr for n in second.nodes if n.op == "set"}
    nodes = [n for n in first.nodes if n.op != "set" or n.attr not in rewritten]
    replaced: dict[Node, Node] = {}
    for n in second.nodes:
        if n.op == "get" and n.attr in present:
            replaced[n] = present[n.reg]
            continue
        if replaced and n.args:
            n.args = tuple(replaced.get(a, a) for a in n.args)
        nodes.append(n)
    first.nodes = nodes
    first.meets = first.meets or (second.meets and not first.instructions)
    first.instructions += second.instructions
    first.places += second.places
    first.place = first.place or second.place
    first.terminator = _replace_values(second.terminator, replaced)


def _replace_values(t: Terminator, replaced: dict[Node, Node]) -> Terminator:
    if isinstance(t, Branch):
        return replace(t, condition=replaced.get(t.condition, t.condition))
    if isinstance(t, Switch):
        return replace(t, index=replaced.get(t.index, t.index))
    if isinstance(t, Barrier):
        reduce = t.reduce
        if reduce is not None:
            reduce = (reduce[0], replaced.get(reduce[1], reduce[1]), reduce[2])
        number = replaced.get(t.number, t.number) if t.number else None
        threads = replaced.get(t.threads, t.threads) if t.threads else None
        return replace(t, number=number, threads=threads, reduce=reduce)
    return t


def _renumber(t: Terminator, position: dict[int, int]) -> Terminator:
    if isinstance(t, Jump | Barrier):
        return replace(t, target=position[t.target])
    if isinstance(t, Branch):
        return replace(t, taken=position[t.taken], other=position[t.other])
    if isinstance(t, Switch):
        return replace(t, targets=tuple(position[x] for x in t.targets))
    return t


def _order(blocks: list[Block], around: dict[int, tuple[int, ...]]) -> list[int]:
    """Block numbers in reverse post-order; loop exits are visited before loop bodies."""
    successors = {b.number: b.successors() for b in blocks}

    def exits_first(number: int) -> list[int]:
        own = around.get(number, ())
        # Fewer common loops first: the successor that leaves the most loops is visited first.
        return sorted(
            successors[number],
            key=lambda s: sum(1 for a, b in zip(own, around.get(s, ()), strict=False) if a == b),
        )

    post: list[int] = []
    seen = {0}
    stack = [(0, iter(exits_first(0)))]
    while stack:
        number, rest = stack[-1]
        for s in rest:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(exits_first(s))))
                break
        else:
            post.append(number)
            stack.pop()
    return post[::-1]


def loops(successors: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """The loops around each block, outermost first, each named by its lowest block number.

    A loop is a strongly connected component. Inner loops are the components that remain without
    the blocks by which the outer one is entered, which also covers irreducible loops.
    """
    around: dict[int, tuple[int, ...]] = dict.fromkeys(successors, ())
    work: list[tuple[set[int], tuple[int, ...]]] = [(set(successors), ())]
    while work:
        nodes, outer = work.pop()
        for component in components(nodes, successors):
            first = min(component)
            if len(component) == 1 and first not in successors[first]:
                continue
            entered = {
                s for n in successors if n not in component for s in successors[n] if s in component
            } or {first}
            chain: tuple[int, ...] = (*outer, first)
            for n in component:
                around[n] = chain
            inside = component - entered
            if inside and inside != component:
                work.append((inside, chain))
    return around


def components(nodes: set[int], successors: dict[int, tuple[int, ...]]) -> list[set[int]]:
    """Strongly connected components among ``nodes`` (Tarjan 1972), without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[set[int]] = []
    for root in sorted(nodes):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(successors[root]))]
        while work:
            n, rest = work[-1]
            for s in rest:
                if s not in nodes:
                    continue
                if s not in index:
                    index[s] = low[s] = len(index)
                    stack.append(s)
                    on_stack.add(s)
                    work.append((s, iter(successors[s])))
                    break
                if s in on_stack:
                    low[n] = min(low[n], index[s])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[n])
                if low[n] == index[n]:
                    component: set[int] = set()
                    while True:
                        m = stack.pop()
                        on_stack.discard(m)
                        component.add(m)
                        if m == n:
                            break
                    found.append(component)
    return found


def live_in(blocks: list[Block]) -> list[int]:
    """Registers live at the start of each block, as bit sets of register numbers.

    Blocks must be numbered by their place in the list.
    """
    uses: list[int] = []
    defines: list[int] = []
    for block in blocks:
        use = define = 0
        for n in block.nodes:
            if n.op == "get":
                use |= (1 << n.reg.number) & ~define
            elif n.op == "set":
                define |= 1 << n.reg.number
        t = block.terminator
        if isinstance(t, Barrier) and t.reduce is not None:
            define |= 1 << t.reduce[2].number
        uses.append(use)
        defines.append(define)
    live = list(uses)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out = 0
            for s in block.successors():
                out |= live[s]
            now = uses[block.number] | (out & ~defines[block.number])
            if now != live[block.number]:
                live[block.number] = now
                changed = True
    return live


def is_plain_exit(block: Block) -> bool:
    """Whether the block does nothing but end its threads."""
    return isinstance(block.terminator, Exit) and all(n.op in ("set", "get") for n in block.nodes)
