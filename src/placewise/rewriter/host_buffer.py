"""Rewrite an array as a buffer at file scope that the host fills (way ``host_buffer``).

``A[i]`` becomes ``A_const[i]``.
"""

from __future__ import annotations

from placewise.kernel.source import ArrayUse
from placewise.rewriter.draft import Draft, strip_load_functions
from placewise.space import MemorySpace

_DECLARATION = "__constant__"


def place_host_buffer(draft: Draft, use: ArrayUse, space: MemorySpace) -> None:
    """Declare the buffer, drop the parameter and rename its uses.

    Local pointers into the array stay. A parameter that the body itself moves stays as a local
    pointer to the buffer.
    """
    declaration = space.declaration or _DECLARATION
    element = use.parameter.element_type
    name = draft.unique(f"{use.name}_const")
    line = f"{declaration} {element} {name}[{use.elements}];"
    # In a namespace the symbol would be mangled, and the host looks it up by its plain name.
    draft.declarations.append(f'extern "C" {{ {line} }}' if draft.view.in_namespace else line)
    if use.reassigned:
        const = "const " if use.parameter.type_text.startswith("const") else ""
        draft.entry.append(f"{const}{element} *{use.name} = {name};")
    else:
        for token in use.tokens:
            draft.text.replace(token, token + len(use.name.encode()), name)
    strip_load_functions(draft, use)
    draft.parameters[use.name] = None
    draft.arguments[use.name] = None
    argument = next(a for a in draft.case.inputs.arrays if a.name == use.name)
    draft.constants.append((name, argument.data))
    draft.renamed.append((use.name, name))
    draft.notes.append(f"{use.name}: {space.name} ({name}, filled by the host)")
    draft.edits.append(f"{use.name}: parameter becomes the {declaration} buffer {name}")
    draft.host += [
        f"// {use.name}: {use.elements} elements of {element} in {space.name} memory, copied from "
        f"{use.name}_host, the host's array",
        f"cudaMemcpyToSymbol({name}, {use.name}_host, {use.elements} * sizeof({element}));",
    ]
