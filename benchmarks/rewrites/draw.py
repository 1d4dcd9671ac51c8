"""Draws: what a random program takes from its seed, with names and indices that stay in bounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.rewrites.program import (
    BINS,
    ELEMENTS,
    HALO,
    TABLE,
    Element,
    Param,
    Statement,
)

NAMES = (
    "a", "b", "x", "y", "w", "data", "t", "inside", "A", "x_tile", "tile_thread", "in", "body",
    "weights", "k_chunk", "begin", "first", "src", "table", "v", "at", "rows", "out_tex",
)  # fmt: skip
"""Names of parameters, among them members of vectors and names that rewrites make."""
SIMPLE = ELEMENTS[:3]
READ = ("row", "row", "column", "column", "matrix", "matrix", "turned", "halo", "table")
T = TypeVar("T")


def braced(head: str, body: list[str]) -> list[str]:
    """A statement with a body in braces."""
    return [f"{head} {{", *(f"    {line}" for line in body), "}"]


class Draw:
    """The random choices of one program, and the parameters drawn so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dims = self.pick((1, 1, 1, 2))
        self.style = self.pick(("return", "return", "branch", "stride"))
        if self.dims == 2 and self.style == "stride":
            self.style = "branch"
        self.total = self.pick(("float", "float", "int", "double"))
        self.template = self.chance(0.12)
        self.names = self.random.sample(NAMES, len(NAMES))
        self.params: list[Param] = []
        self.used: set[str] = set()
        self.helpers: list[str] = []
        self.locals = 0
        self.array("own", pick_from=())

    def pick(self, among: Sequence[T]) -> T:
        """One of them."""
        return self.random.choice(among)

    def chance(self, share: float) -> bool:
        """True with probability ``share``."""
        return self.random.random() < share

    def local(self, name: str) -> str:
        """A new name of a local variable."""
        self.locals += 1
        return f"{name}{self.locals}"

    def element(self, role: str) -> Element:
        """A type for an array of a role."""
        if role in ("index", "count"):
            return ELEMENTS[1]
        if role in ("bins", "extremes"):
            return ELEMENTS[1 if self.chance(0.5) else 2]
        if role == "rows":
            return self.pick(SIMPLE)
        if role == "own":
            return self.pick(SIMPLE if self.total != "double" else (ELEMENTS[4],))
        return self.pick(ELEMENTS if self.chance(0.5) else SIMPLE)

    def array(self, role: str, *, pick_from: Sequence[Param] | None = None) -> Param:
        """An array of the role: one drawn before or, more often, a new one."""
        known = self.params[1:] if pick_from is None else pick_from
        fitting = [p for p in known if p.role == role]
        if fitting and (self.chance(0.4) or len(self.names) < 3):
            chosen = self.pick(fitting)
        else:
            element = self.element(role)
            name = self.names.pop()
            text = element.text
            if self.template and text == "float":
                text = "T"
            is_written = role in ("own", "bins", "extremes", "rows")
            constant = "" if is_written or self.chance(0.15) else "const "
            star = self.pick(("*", "*", "* ", " *__restrict__ ", "[]"))
            declared = f"{constant}{text} {star}{name}"
            if star == "[]":
                declared = f"{constant}{text} {name}[]"
            chosen = Param(name, element, role, declared)
            self.params.append(chosen)
        self.used.add(chosen.name)
        return chosen

    def statement(self, lines: Sequence[str], entry: Sequence[str] = ()) -> Statement:
        """A statement of what was used since the last one."""
        made = Statement(tuple(lines), frozenset(self.used), tuple(self.helpers), tuple(entry))
        self.used, self.helpers = set(), []
        return made

    def index(self, param: Param, k: str | None) -> str:
        """An index of the array inside its bounds, for row i (column j), and k below m."""
        column = k or ("j" if self.dims == 2 else "(i % m)")
        if k is not None and self.dims == 2 and self.chance(0.3):
            column = "j"
        turned = f"(m - 1 - {column})"
        match param.role:
            case "row" | "index" | "count":
                forms = ["i", "i", "n - 1 - i", "(i * 3 + 1) % n", "i / 2", "max(i - 1, 0)",
                         "min(i + 1, n - 1)", "(int)((unsigned)i * 5u % (unsigned)n)",
                         "(n - 1) - i", "i & ~1", "i - i % 4"]  # fmt: skip
                if self.style != "stride" and self.dims == 1:
                    forms.append("blockIdx.x * blockDim.x + threadIdx.x")
                if param.role == "row":
                    forms.append(self.gathered())
                if k is not None:
                    forms += [f"(i + {k}) % n", f"min(i + (int){k}, n - 1)"]
            case "column":
                forms = [column, column, turned, f"({column} * 3) % m", f"(i + {column}) % m",
                         f"{column} / 2", f"{column} - ({column} & 1)"]  # fmt: skip
            case "matrix":
                forms = [f"i * p + {column}", f"p * i + {column}", f"{column} + i * p",
                         f"(i) * (p) + ({column})", f"i * p + {turned}",
                         f"(n - 1 - i) * p + {column}", f"(size_t)i * p + {column}",
                         f"(unsigned)i * p + {column}", f"i / 2 * p + {column}",
                         f"max(i - 1, 0) * p + {column}", f"(i * p) + {column}",
                         f"i * p + {column} / 2", f"i / 8 % n * p + {column}",
                         f"i % 8 % n * p + {column}", f"(i % n) * p + {column}",
                         "(i / 4) * 4 % n * p + i % 4 % m"]  # fmt: skip
            case "turned":
                forms = [f"{column} * n + i", f"i + {column} * n", f"n * {column} + i",
                         f"{turned} * n + i", f"({column} * n) + (n - 1 - i)"]  # fmt: skip
            case "halo":
                d = self.random.randrange(2 * HALO + 1)
                forms = [f"i + {d}", f"i + {HALO} - {HALO - d}" if d <= HALO else f"i + {d}",
                         f"n + {HALO} - 1 - i"]  # fmt: skip
            case "table":
                forms = [
                    "i & 63",
                    "i % 64",
                    "threadIdx.x & 63",
                    f"({column} * 5) % {TABLE}",
                    f"({column} + i) & 63",
                    f"{self.value_of_index()} & 63",
                    "63 - (i & 31)",
                ]
            case _:
                forms = ["i" if self.dims == 1 else "i * p + j"]
        return self.pick(forms)

    def gathered(self) -> str:
        """An index read from an array of indices."""
        if self.chance(0.6):
            return "i"
        before = set(self.used)
        index = self.array("index")
        if index.name not in before and self.chance(0.2):
            return f"__ldg(&{index.name}[i])" if "const" in index.declared else "i"
        return f"{index.name}[i]"

    def value_of_index(self) -> str:
        """A number from an array of indices, or i."""
        return f"{self.array('index').name}[i]" if self.chance(0.4) else "i"

    def read(self, param: Param, index: str) -> str:
        """An expression that reads one element, as a scalar."""
        name, member = param.name, param.element.member
        forms = [f"{name}[{index}]"] * 6
        forms += [f"(*({name} + ({index})))", f"{name}[({index})]", f"{name}[{index} /* at */]"]
        forms.append(f"(*(&{name}[{index}]))")
        if "const" in param.declared and param.element.dtype not in ("cell", "i8"):
            forms += [f"__ldg(&{name}[{index}])", f"__ldg({name} + ({index}))"]
        if self.chance(0.1):
            macro = f"READ_{name}"
            self.helpers.append(f"#define {macro}(at) {name}[at]")
            forms = [f"{macro}({index})"]
        elif self.chance(0.08) and "[]" not in param.declared and not self.template:
            forms = [self.fetching(name, param.element.text, index)]
        text = self.pick(forms)
        return f"({self.total})({text}{member})" if self.chance(0.5) else text + member

    def fetching(self, name: str, kind: str, index: str) -> str:
        """A call of a device function that takes the array and reads one element of it."""
        bodies = (
            "{ return from[where]; }",
            "{ if (where == 3) return from[3]; return from[where]; }",
            "{ const size_t i = where; const int n = 1; return (from + i - n)[n]; }",
            f"{{ {kind} s = from[where]; for (int k = 0; k < 2; k++) s = from[where]; return s; }}",
        )
        pointers = ("*from", "*__restrict__ from", "from[]")
        which, taken = self.random.randrange(len(bodies)), self.random.randrange(len(pointers))
        function = f"fetch_{name}{which}{taken}"
        self.helpers.append(
            f"static __device__ {kind} {function}(const {kind} {pointers[taken]}, size_t where) "
            f"{bodies[which]}"
        )
        if self.chance(0.3):
            self.helpers.append(
                f"static __device__ {kind} {function}_of(const {kind} *from, int n, size_t i) "
                f"{{ return {function}(from + n, i - n); }}"
            )
            return f"{function}_of({name}, 0, {index})"
        return f"{function}({name}, {index})"

    def value(self, k: str | None = None) -> str:
        """A scalar read from an array of any role that is only read."""
        role = self.pick(READ)
        if role == "matrix" and self.chance(0.3) and self.dims == 1 and k is None:
            role = "row"
        param = self.array(role)
        text = self.read(param, self.index(param, k))
        if self.chance(0.06):
            self.helpers.append("static __device__ float squared(float z) { return z * z; }")
            return f"squared({text})"
        return text

    def update(self, k: str | None = None) -> str:
        """A statement that changes the total by what it reads."""
        one = self.value(k)
        forms: list[Callable[[], str]] = [
            lambda: f"s += {one};",
            lambda: f"s += {one};",
            lambda: f"s -= {one};",
            lambda: f"s = s + {one};",
            lambda: f"if ({one} > 1) s += 2; else s += {self.value(k)};",
            lambda: f"s += {one} > 0 ? {self.value(k)} : 1;",
            lambda: f"if ({one} < 3) {{ s += 1; }}",
        ]
        if self.total != "int":
            forms += [lambda: f"s += {one} * {self.value(k)};", lambda: f"s = s * 0.5f + {one};",
                      lambda: f"s = fmaxf(s, {one});"]  # fmt: skip
        return self.pick(forms)()

    def bin(self) -> str:
        """An index of a bin."""
        return self.pick((f"i % {BINS}", f"{self.value_of_index()} & {BINS - 1}", "i & 7"))
