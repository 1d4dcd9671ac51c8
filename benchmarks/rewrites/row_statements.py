"""Statements in which each thread goes over a row, or a run of elements, of its own.

In their text, ``i`` is the thread's own number below ``n``, and a row has ``m`` elements and begins
``p`` elements after the last one. All of them need a grid of one dimension: in one of two, each
function draws :func:`moved` instead.
"""

from __future__ import annotations

from benchmarks.rewrites.draw import Draw, braced
from benchmarks.rewrites.program import Statement


def rows(draw: Draw) -> Statement:
    """A row of each thread's own, written column by column."""
    if draw.dims == 2:
        return moved(draw)
    name, k = draw.array("rows", pick_from=()).name, draw.local("k")
    at = draw.pick((f"i * p + {k}", f"{k} + p * i", f"i * p + m - 1 - {k}",
                    f"(n - 1 - i) * p + {k}", f"(size_t)i * p + {k}"))  # fmt: skip
    value = draw.pick((f"s + {k}", draw.value(k), f"{draw.value()} * {k}"))
    store = f"{name}[{at}] = {value};"
    bodies = [
        [store], [store], [draw.update(k), store], [f"if ({k} > 1) {store}"],
        [f"if ({k} >= 2 && {k} + 1 < m) {store}"], [f"if ({k} < 2) continue;", store],
        [f"if ({k} != 0) {store}"], [f"if ({k} + 1 != m && {k} != 0) {store}"],
        [f"if ({draw.value(k)} > 2) {store}"], [f"if (i & 1) {store}"],
        [store, f"{name}[i * p + {k}] = 1;"], [store, f"s += {name}[i * p];"],
        [f"if ({k} > 2) {{ if ({draw.value()} > 5) continue; }}", store],
        [f"if ({k} < 2 * (int)blockIdx.x + 3) {store}"],
    ]  # fmt: skip
    heads = (
        f"int {k} = 0; {k} < m; {k}++",
        f"int {k} = 0; {k} < m; {k}++",
        f"int {k} = 1; {k} <= (int)m - 1; ++{k}",
        f"unsigned {k} = 0; {k} < m; {k}++",
        f"int {k} = 0; {k} < m; {k} += 2",
        f"int {k} = (int)m - 1; {k} >= 0; {k}--",
    )
    lines = braced(f"for ({draw.pick(heads)})", draw.pick(bodies))
    if draw.chance(0.2):
        lines = braced(f"for (int {k}z = 0; {k}z < 2; {k}z++)", lines)
    return draw.statement(lines)


def moved(draw: Draw) -> Statement:
    """An array whose pointer the kernel moves first."""
    a, k = draw.array("moved", pick_from=()), draw.local("k")
    by = draw.pick(("n", "3", "blockIdx.x", "(size_t)n", "n / 2 + 1"))
    step = draw.pick((f"{a.name} += {by};", f"{a.name} = {a.name} + {by};",
                      f"{a.name} += {by}; {a.name}--;"))  # fmt: skip
    read = draw.pick((f"{a.name}[i * p + {k}]", f"*({a.name} + i * p + {k})", f"{a.name}[{k}]"))
    loop = braced(f"for (int {k} = 0; {k} < m; {k}++)",
                   [f"s += ({read}){a.element.member};", draw.update(k)])  # fmt: skip
    return draw.statement(loop, [step])


def read_rows(draw: Draw) -> Statement:
    """A row of each thread's own that is read and written, in one loop or in several."""
    if draw.dims == 2:
        return moved(draw)
    name, k = draw.array("rows", pick_from=()).name, draw.local("k")
    at = draw.pick((f"i * p + {k}", f"{k} + p * i", f"(size_t)i * p + {k}"))
    value = draw.pick((f"{k} + 1", draw.value(k), draw.value()))
    here, before, after = f"{name}[{at}]", f"{name}[{at} - 1]", f"{name}[{at} + 1]"
    count = draw.pick((f"int {k} = 0; {k} < m; {k}++", f"unsigned {k} = 0; {k} < m; {k}++"))
    inner = draw.pick((f"int {k} = 1; {k} + 1 < m; {k}++", f"int {k} = 2; {k} < (int)m - 3; {k}++"))
    each, between = f"for ({count})", f"for ({inner})"
    forms = [
        [*braced(each, [f"{here} += {value};"])],
        [*braced(each, [f"{here} = {value};", f"s += {here};"]), *braced(each, [f"{here} /= 3;"])],
        [*braced(each, [f"s += {here};"]), *braced(each, [f"{here} = {here} / 2 + s;"])],
        [*braced(each, [f"s += {here};", f"{here} = s;"])],
        [*braced(between, [f"{here} = {before} + {value};"])],
        [*braced(between, [f"{here} = {after} / 2;"])],
        [*braced(between, [f"{here} = {value};", f"s += {before} - {after};"])],
        [f"{name}[i * p] = {draw.value()};", *braced(between, [f"{here} += {before};"])],
        [*braced(each, [f"{here} *= 2;"]), f"s += {name}[i * p + 1];", f"{name}[i * p] = s;"],
        [*braced(each, [f"{here} *= 2;", f"if ({k} > 3) {here} += 1;"])],
        [*braced(each, [f"if ({k} > 3) {here} = {value};", f"s += {here};"])],
        [
            *braced(
                each,
                [
                    f"s += {here};",
                    f"if ({k} + 1 != m) s += {after};",
                    f"if ({k} != 0) s -= {before};",
                ],
            )
        ],
        [*braced(each, [f"if ({k} != 0) {here} += {before};"])],
        [*braced(each, [f"if ({k} > 1) {here} = {value}; else {here} = 7;"])],
        [*braced(each, [f"if ({k} + 3 < m) {here} = {value};", f"if ({k} & 1) {here} = 2;"])],
        [*braced(each, [f"if ({k} > 0) {here} = 1;", f"if ({k} == 0) {here} += {value};"])],
        [*braced(each, [f"if ({here} > 3) {here} = 1; else {here} += 1;"])],
        [*braced(each, [f"{here} = 0;", f"for (int z = 0; z < 3; z++) {here} += z;"])],
        [*braced(f"for (int {k}z = 0; {k}z < 3; {k}z++)", braced(each, [f"{here} += {k}z;"]))],
    ]
    return draw.statement(draw.pick(forms))


def runs(draw: Draw) -> Statement:
    """A run of neighbouring elements for each thread, up to an end of the thread's own."""
    if draw.dims == 2:
        return moved(draw)
    written = draw.chance(0.5)
    a = draw.array("rows" if written else "matrix", pick_from=())
    k, end = draw.local("k"), draw.local("end")
    total = draw.pick(("n * p", "(n - 1) * p", "n * p - 3"))
    ends = (
        f"const int {end} = min((int)(i * p + p), (int)({total}));",
        f"const int {end} = i * p + m < {total} ? i * p + m : {total};",
        f"int {end} = i * p + (i % 4);",
        f"int {end} = min(i * (int)p + 9, (int)({total})); if (i == 3) {end}--;",
    )
    heads = (
        f"int {k} = i * p; {k} < {end}; {k}++",
        f"int {k} = i * p + 1; {k} <= {end} - 1; ++{k}",
        f"unsigned {k} = i * p; {k} < {end}; {k}++",
        f"int {k} = i * p; {k} < {end} && {k} < {total}; {k}++",
        f"int {k} = i * p; {k} >= 3 && {k} < {end}; {k}++",
        f"int {k} = i * p; {k} < {end}; {k} += 2",
    )
    element = f"{a.name}[{k}]{a.element.member}"
    read = [f"s += {element};"]
    bodies = [read, read, [f"if ({k} % 3 == 1) continue;", *read], [*read, "if (s > 90) break;"]]
    if written:
        # Longer runs would overlap those of other threads.
        ends = ends[:3]
        store = f"{element} = {draw.pick((f'{k}', 's', draw.value()))};"
        bodies = [[store], [f"{element} += 2;"], [*read, store], [f"if ({k} > 5) {store}"]]
    loop = braced(f"for ({draw.pick(heads)})", draw.pick(bodies))
    return draw.statement([draw.pick(ends), *loop])


def triangle(draw: Draw) -> Statement:
    """A loop that ends at, or starts from, the thread's own number."""
    if draw.dims == 2:
        return moved(draw)
    k, r = draw.local("k"), draw.local("r")
    heads = (
        f"int {r} = 0; {r} <= i && {r} < 24; {r}++",
        f"int {r} = i / 2; {r} < i && {r} < 20; {r}++",
        f"int {r} = i; {r} < n && {r} < i + 5; {r}++",
        f"int {r} = max(0, i - 3); {r} < min(i + 3, (int)n); {r}++",
    )
    a = draw.array("matrix", pick_from=())
    body = [f"s += {a.name}[{r} * p + {k}]{a.element.member};", draw.update(k)]
    inner = braced(f"for (int {k} = 0; {k} < m; {k}++)", body)
    return draw.statement(braced(f"for ({draw.pick(heads)})", inner))
