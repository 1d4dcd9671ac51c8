"""Hostile programs to draft a case from: damaged host code around a kernel, and odd launches."""

from __future__ import annotations

from random import Random

from benchmarks.fuzz.examples import KERNEL
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import encoded, mutate_bytes, mutate_text

_HOST = """
#include <cstdio>
#define TILE 16
const int side = 1 << 5;
int ceil_div(int a, int b) { return (a + b - 1) / b; }
void launch(const float *x, float *out, int rows, int columns, const int threads) {
    int n = rows * columns, blocks = ceil_div(n, threads);
    dim3 grid(blocks, 1), block(threads);
    scale<<<grid, block, threads * sizeof(float)>>>(x, out, n);
}
int main(int argc, char **argv) {
    int rows = argc > 1 ? atoi(argv[1]) : TILE * 8;
    launch(nullptr, nullptr, rows, side, 64);
}
"""
_LAUNCHES = (
    "scale<<<n, n>>>(x, out, n); int n = n;",
    "scale<<<0, 0>>>(x, out, -5);",
    "scale<<<1 << 40, 1 << 39>>>(x, out, 1 << 62);",
    "scale<<<dim3(), dim3(1, 2, 3, 4)>>>();",
    "scale<<<1e400, 9.5>>>(x, out, 1 / 0);",
    "scale<<<a(b(c(d(e)))), {}>>>(x, out, ((((((n)))))));",
    "scale<<<65535 * 65535, 1024>>>(x, out, 2147483647);",
)
_LONG = ("(", "int n = n + ", "const ", "dim3 b(", "f(", "scale<<<", "#define n n\n", "n = ", "{")


def draft_input(rng: Random) -> HostileInput:
    """A program of a kernel and host code, one of them hostile."""
    program = KERNEL + _HOST
    match rng.randrange(6):
        case 0:
            what, data = "bytes", mutate_bytes(rng, program.encode())
        case 1:
            part = rng.choice(_LONG)
            what, data = f"much of {part.strip()}", (program + part * 30_000).encode()
        case 2:
            launch = rng.choice(_LAUNCHES)
            what, data = "launch", f"{KERNEL}void odd() {{ {launch} }}\n".encode()
        case _:
            what, data = "text", encoded(rng, KERNEL + mutate_text(rng, _HOST))
    options = rng.choice(((), ("--json",), ("--no-run",), ("--kernel", "scale")))
    return HostileInput("draft", what, ("draft", "program.cu", *options), {"program.cu": data})
