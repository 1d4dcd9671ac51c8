"""The view of a case's source that the rest of the pipeline works with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from placewise.kernel.cases.bind_names import bind_parameters
from placewise.kernel.cases.case import Case
from placewise.kernel.chunks import ChunkPlan
from placewise.kernel.launch import ArrayArgument, Inputs, Launch
from placewise.kernel.source import (
    AccessPlace,
    ArrayUse,
    DeclaredConstant,
    InlinedView,
    Member,
    Parameter,
    RowSplit,
    SourceView,
)
from placewise.kernel.view.elements import dtype_of, loads_by_intrinsic, texel, unqualified
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import Uses, element_type
from placewise.kernel.view.pointers import MOVES, PER_BLOCK, follow
from placewise.kernel.view.read_as import read_as
from placewise.kernel.view.tiles.chunk_tiles import TiledArray
from placewise.kernel.view.tiles.chunks import find_chunk_plans
from placewise.kernel.view.tiles.merging import merging_function
from placewise.kernel.view.tiles.rows import find_rows
from placewise.kernel.view.tiles.tile import TileResult, find_tile, make_bounder
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel, parse_signature
from placewise.kernel.view.tree.node import Node, shared_arrays
from placewise.kernel.view.tree.places import declares
from placewise.kernel.view.tree.template import template_parameters
from placewise.kernel.view.written_out.all_levels import written_out
from placewise.space import Way

_BY_LOAD_FUNCTION = tuple(way for way in Way if way.facts.by_load_function)
_REPLACING = tuple(way for way in Way if way.facts.replaces_parameter)
_TEXTURES = tuple(way for way in Way if way.facts.texels)
_BY_ROW = tuple(way for way in Way if way.facts.by_row)
_HOST_FILLED = tuple(way for way in Way if way.facts.host_filled)
MOVES_OF_TEXT = tuple(way for way in MOVES if not way.facts.by_load_function)
"""Ways that change every use of an array, also one in a branch that the preprocessor left out."""
_WIDE = 1 << 31
"""Fewest elements of an array whose indices need 64 bits."""
_TEXELS = 1 << 27
"""Most texels of a linear texture, on every architecture (CUDA C++ Programming Guide, Technical
Specifications: 2^27 or 2^28)."""
_WARP_SYNCHRONOUS = ("__shfl", "__syncwarp", "__ballot_sync", "__all_sync", "__any_sync",
                     "__match_", "__reduce_", "__activemask")  # fmt: skip


def analyse_source(case: Case) -> SourceView:
    """What the source of ``case`` says of its kernel's arrays.

    Parameters come with the kernel's definition; accesses, obstacles and tiles follow from its
    body and the case's inputs. Arrays that device functions take are followed there, too, in a
    source with these calls written out. The case's arguments may still be positional. Raises
    UnsupportedError where the definition cannot be found, CaseError where the arguments do not fit
    the parameters.
    """
    kernel = parse_kernel(case)
    view = _analysed(case, kernel)
    found = _inlined(case, kernel)
    return view if found is None else _joined(view, found)


def _bound(case: Case, kernel: ParsedKernel) -> tuple[tuple[Parameter, ...], Inputs]:
    """The kernel's parameters, and the case's arguments under their names."""
    parameters = tuple(parameter_of(p) for p in kernel.parameters)
    return parameters, bind_parameters(case, parameters, kernel.constants).inputs


def _analysed(case: Case, kernel: ParsedKernel) -> SourceView:
    parameters, inputs = _bound(case, kernel)
    values = Values(kernel, make_bounder(case.launch, inputs))
    pointers = [
        _followed(kernel, node, parameter, inputs)
        for node, parameter in zip(kernel.parameters, parameters, strict=True)
        if parameter.is_pointer
    ]
    arrays = tuple(
        _array_use(kernel, uses, parameter, inputs, values, case.launch)
        for parameter, uses in pointers
    )
    plans = () if kernel.errors else _chunk_plans(kernel, values, pointers, arrays, case.launch)
    return replace(_view(case, kernel, parameters, arrays), chunk_plans=plans)


def _followed(
    kernel: ParsedKernel, node: Node, parameter: Parameter, inputs: Inputs
) -> tuple[Parameter, Uses]:
    """A pointer parameter and what the body does with it: of an array that is read only as elements
    of another type, as an array of those."""
    uses = follow(kernel, node)
    other = read_as(kernel, node) if uses.reinterpreted else None
    bytes_ = next((a.data.nbytes for a in inputs.arrays if a.name == parameter.name), 0)
    if other is None or bytes_ % other[1]:
        return parameter, uses
    element, size = other
    seen = replace(
        parameter, element_type=element, element_bytes=size, element_dtype=dtype_of(element),
        fields=(), scalars=(),
    )  # fmt: skip
    found = follow(kernel, node, element)
    return (parameter, uses) if found.reinterpreted else (seen, found)


def _inlined(case: Case, kernel: ParsedKernel) -> InlinedView | None:
    """The source with what hides arrays written out; None where there is nothing of it."""
    wide = any(a.data.size >= _WIDE for a in case.inputs.arrays)
    _, inputs = _bound(case, kernel)
    found = written_out(case, kernel, make_bounder(case.launch, inputs), wide=wide)
    if found is None:
        return None
    source, parsed = found
    return InlinedView(source, _analysed(replace(case, source=source), parsed))


def _joined(view: SourceView, inlined: InlinedView) -> SourceView:
    """``view`` with those of its arrays that the source with calls written out tells more of: less
    that obstructs them, or tiles by chunks of a loop."""
    here_in_chunks, there_in_chunks = (
        {array for plan in v.chunk_plans for array in plan.arrays} for v in (view, inlined.view)
    )
    arrays = tuple(
        replace(there, inlined=True, as_written=here)
        if len(there.obstacles) < len(here.obstacles)
        or here.name in there_in_chunks - here_in_chunks
        else here
        for here, there in zip(view.arrays, inlined.view.arrays, strict=True)
    )
    further = {a.name for a in arrays if a.inlined}
    if not further:
        return view
    plans = tuple(p for p in inlined.view.chunk_plans if further & set(p.arrays))
    return replace(view, arrays=arrays, chunk_plans=(*view.chunk_plans, *plans), inlined=inlined)


def bound_case(case: Case) -> tuple[Case, tuple[Parameter, ...]]:
    """``case`` with its arguments in the order and under the names of the kernel's parameters, and
    these.

    Raises as :func:`analyse_source` does.
    """
    signature = parse_signature(case)
    parameters = tuple(parameter_of(p) for p in signature.parameters)
    return bind_parameters(case, parameters, signature.constants), parameters


def parameters_of(case: Case) -> tuple[Parameter, ...]:
    """The parameters of the case's kernel; raises as :func:`analyse_source` does."""
    return tuple(parameter_of(p) for p in parse_signature(case).parameters)


def _view(
    case: Case, kernel: ParsedKernel, parameters: tuple[Parameter, ...],
    arrays: tuple[ArrayUse, ...],
) -> SourceView:  # fmt: skip
    return SourceView(
        kernel=case.kernel,
        parameters=parameters,
        arrays=arrays,
        body_start=kernel.body.start,
        body_end=kernel.body.end,
        signature_start=kernel.signature_start,
        returns_early=_first_return(kernel.body),
        has_barrier=_synchronises(kernel),
        constant_bytes=kernel.constant_bytes,
        constants=_named_constants(kernel),
        shared=shared_arrays(kernel.body),
        shared_bytes=kernel.shared_bytes,
        in_namespace=kernel.in_namespace,
        prototypes=tuple(p.parameters for p in kernel.prototypes if p.parameters),
        declared_in=tuple(p.where for p in kernel.prototypes if not p.parameters),
    )


def _named_constants(kernel: ParsedKernel) -> tuple[DeclaredConstant, ...]:
    """The ``__constant__`` variables that the kernel or a function of its file names."""
    named = {
        n.name
        for function in (kernel.body, *kernel.functions)
        for n in function.walk()
        if n.kind == "DECL_REF_EXPR"
    }
    return tuple(c for c in kernel.constants if c.name in named)


def parameter_of(node: Node) -> Parameter:
    """The parameter that a node of the kernel's signature declares."""
    pointer = node.type_kind == "POINTER"
    element = element_type(node)
    return Parameter(
        name=node.name,
        type_text=node.type,
        is_pointer=pointer,
        element_type=element,
        element_bytes=node.size,
        element_dtype=dtype_of(element),
        start=node.start,
        end=node.end,
        fields=tuple(Member(name, offset) for name, offset in node.members),
        scalars=node.scalars,
    )


def _chunk_plans(
    kernel: ParsedKernel, values: Values, pointers: list[tuple[Parameter, Uses]],
    arrays: tuple[ArrayUse, ...], launch: Launch,
) -> tuple[ChunkPlan, ...]:  # fmt: skip
    """Plans for the arrays that are followed to every access."""
    tiled = [
        TiledArray(p.name, uses, use.elements, p.element_bytes, use.written)
        for (p, uses), use in zip(pointers, arrays, strict=True)
        if (use.read or use.written) and not any(use.obstacle(w) for w in PER_BLOCK)
    ]
    body = kernel.body
    if any(
        body.start <= start < body.end and not _NEVER.match(kernel.text, start)
        for start, _ in kernel.skipped
    ):
        # Branches that the preprocessor left out would keep their old shape.
        return ()
    return find_chunk_plans(kernel, values, tiled, launch, synchronises=_synchronises(kernel))


def _array_use(
    kernel: ParsedKernel, uses: Uses, parameter: Parameter, inputs: Inputs, values: Values,
    launch: Launch,
) -> ArrayUse:  # fmt: skip
    """How the kernel uses one array, and where it can be placed."""
    places = tuple(a.place for a in uses.accesses)
    declared = element_type(uses.variables[0].declaration)
    loads = [p for p in places if p.kind == "load"]
    argument = next((a for a in inputs.arguments if a.name == parameter.name), None)
    bytes_ = argument.data.nbytes if isinstance(argument, ArrayArgument) else 0
    elements = bytes_ // max(1, parameter.element_bytes)
    obstacles = _obstacles(kernel, parameter, uses, places, elements)
    written = any(p.kind != "load" for p in places)
    found = _tile(kernel, uses, values, elements, parameter, launch, obstacles, written=written)
    rows = None
    if any(way not in obstacles for way in _BY_ROW):
        split = find_rows(values, uses.accesses, elements)
        if isinstance(split, RowSplit):
            rows = split
        else:
            obstacles |= {way: split for way in _BY_ROW if way not in obstacles}
    functions = {p.intrinsic for p in loads}
    own = functions.pop() if len(functions) == 1 else None
    return ArrayUse(
        parameter=parameter,
        read=any(p.kind != "store" for p in places),
        written=written,
        accesses=places,
        obstacles=tuple(obstacles.items()),
        tile=found.tile,
        tile_obstacle=found.obstacle,
        rows=rows,
        present=Way.INTRINSIC if own else Way.DIRECT,
        load_function=own,
        tokens=tuple(sorted(uses.variables[0].tokens)),
        aliases=uses.aliases(),
        reassigned=uses.variables[0].changed is not None,
        elements=elements,
        read_as=parameter.element_type if parameter.element_type != declared else "",
        reinterpreted=uses.reinterpreted,
    )


def _tile(
    kernel: ParsedKernel, uses: Uses, values: Values, elements: int, parameter: Parameter,
    launch: Launch, obstacles: dict[Way, str], *, written: bool,
) -> TileResult:  # fmt: skip
    blocked = next((obstacles[w] for w in PER_BLOCK if w in obstacles), None)
    if kernel.unread_line is not None:
        blocked = blocked or f"the parser does not understand line {kernel.unread_line}"
    if blocked or not uses.accesses:
        return TileResult(None, blocked or "never accessed in the kernel's body")
    element_bytes = parameter.element_bytes
    merge = merging_function(parameter.element_type, element_bytes, uses.accesses)
    return find_tile(
        values, uses.accesses, elements, element_bytes, launch,
        written=written, merge=merge,
    )  # fmt: skip


def _obstacles(
    kernel: ParsedKernel, parameter: Parameter, uses: Uses, places: tuple[AccessPlace, ...],
    elements: int,
) -> dict[Way, str]:  # fmt: skip
    """Why an array cannot be reached in some ways, by the way of access."""
    obstacles = dict(uses.obstacles)

    def obstruct(ways: tuple[Way, ...], reason: str) -> None:
        for way in ways:
            obstacles.setdefault(way, reason)

    written = next((p for p in places if p.kind != "load"), None)
    if written is not None:
        obstruct(_REPLACING, f"written (line {written.line})")
        if not any(p.kind == "load" for p in places):
            obstruct(_BY_LOAD_FUNCTION, "the kernel only writes to it")
    if not places:
        obstruct(MOVES, "never accessed in the kernel's body")
    for place in places:
        read = unqualified(place.member_type)
        if place.kind == "load" and not loads_by_intrinsic(read):
            obstruct(
                _BY_LOAD_FUNCTION,
                f"no load function for elements of type {read} (line {place.line})",
            )
    if texel(parameter.element_type) is None:
        obstruct(_TEXTURES, f"{parameter.element_type} is no texel type")
    elif elements > _TEXELS:
        obstruct(_TEXTURES, f"{elements} elements, a linear texture holds {_TEXELS} at most")
    early = _first_return(kernel.body)
    if written is not None and early is not None and _synchronises(kernel):
        obstruct(
            PER_BLOCK,
            f"written, and threads return early (line {early}) while others wait for one another: "
            "a tile cannot be copied back",
        )
    if not parameter.element_bytes:
        unknown = f"the size of its elements, {parameter.element_type}, is not known"
        obstruct((*_REPLACING, *PER_BLOCK), unknown)
    if parameter.element_type.endswith("*"):
        obstruct((*_REPLACING, *PER_BLOCK), "its elements are pointers")
    _obstruct_by_text(kernel, parameter, obstruct)
    binding = next((p.where for p in kernel.prototypes if p.binds), None)
    if binding is not None:
        obstruct(_REPLACING, f"the kernel is declared again ({binding})")
    if not declares(kernel.text[max(0, parameter.start) : parameter.end], parameter.name):
        obstruct(_REPLACING, "its declaration comes from a macro")
    return obstacles


_NEVER = re.compile(rb"#?[ \t]*if[ \t]+0\b")
"""A branch that no compilation takes."""
_ENDS_THREAD = re.compile(rb"\b(?:exit|ret|trap)\b")


def _obstruct_by_text(
    kernel: ParsedKernel, parameter: Parameter, obstruct: Callable[[tuple[Way, ...], str], None]
) -> None:
    """What the text says that the syntax tree does not: branches that the preprocessor left out,
    threads that end in assembly, types of a template."""
    body = kernel.body
    line = line_left_out(kernel, parameter.name)
    if line is not None:
        obstruct(MOVES_OF_TEXT, f"used in a branch left out by the preprocessor (line {line})")
    for node in (n for part in (body, *kernel.functions) for n in part.walk()):
        if node.kind in ("ASM_STMT", "MS_ASM_STMT", "UNEXPOSED_STMT", "GCC_ASM_STMT"):
            text = kernel.text[node.start : node.end]
            if text.lstrip().startswith((b"asm", b"__asm")) and _ENDS_THREAD.search(text):
                obstruct(PER_BLOCK, f"inline assembly may end a thread (line {node.line})")
    found = template_parameters(kernel.text, kernel.instance, kernel.signature_start)
    types = {t.name for t in found if t.is_type}
    _, bracket, own = "".join(kernel.instance.split()).partition("<")
    other = next((i for i in kernel.instances if i.arguments != bracket + own), None)
    if other is not None and len(types) < len(found):
        obstruct(PER_BLOCK, f"tiles are made for one instance, line {other.line} has another")
    declared = kernel.text[max(0, parameter.start) : max(0, parameter.end)].decode()
    if types & set(re.findall(r"\w+", declared)):
        obstruct(
            _HOST_FILLED, "its type is the template's, a buffer at file scope has one type for all"
        )
        fetched = texel(parameter.element_type)
        if fetched is not None and fetched[0] != parameter.element_type:
            obstruct(_TEXTURES, "its type is the template's, and its texels have another")


def line_left_out(kernel: ParsedKernel, name: str) -> int | None:
    """Line of a branch in the kernel's body that the preprocessor left out and that uses ``name``;
    None where there is none."""
    body = kernel.body
    word = re.compile(rb"\b%s\b" % re.escape(name.encode())) if name else None
    for start, end in kernel.skipped:
        inside = body.start <= start < body.end and not _NEVER.match(kernel.text, start)
        if inside and word is not None and word.search(kernel.text, start, end):
            return kernel.text.count(b"\n", 0, start) + 1
    return None


def _first_return(body: Node) -> int | None:
    """Line of the first return of the kernel itself, lambdas inside it apart."""
    pending = [body]
    lines = []
    while pending:
        node = pending.pop()
        if node.kind == "RETURN_STMT":
            lines.append(node.line)
        if node.kind != "LAMBDA_EXPR":
            pending.extend(node.children)
    return min(lines, default=None)


def _synchronises(kernel: ParsedKernel) -> bool:
    """Whether threads of a block or warp wait for one another in the body or in what it calls."""
    functions = {f.id: f for f in kernel.functions}
    pending, seen = [kernel.body], set[int]()
    while pending:
        for node in pending.pop().walk():
            if node.kind in ("ASM_STMT", "MS_ASM_STMT"):
                return True
            if node.kind == "CALL_EXPR":
                if (
                    node.name.startswith(("__syncthreads", *_WARP_SYNCHRONOUS))
                    or "sync" in node.name
                ):
                    return True
                target = functions.get(node.target)
                if target is not None and target.id not in seen:
                    seen.add(target.id)
                    pending.append(target)
    return False
