"""Hostile CUDA C++: damaged sources, and valid ones of unusual size, depth and behaviour."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from benchmarks.fuzz.case_files import case_command, rich_files
from benchmarks.fuzz.examples import KERNEL, RICH_CASE, RICH_KERNEL, SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import encoded, mutate_bytes, mutate_text

_HEAD = "__global__ void scale(const float *x, float *out, int n) {\n    int i = threadIdx.x;\n"


def cuda_input(rng: Random) -> HostileInput:
    """The small or the rich case, with a hostile source."""
    files = rich_files()
    rich = rng.random() < 0.2
    name = "rich.cu" if rich else "kernel.cu"
    files["case.toml"] = toml(RICH_CASE if rich else SMALL_CASE).encode()
    match rng.randrange(10):
        case 0 | 1 | 2:
            what, text = "text", mutate_text(rng, RICH_KERNEL if rich else KERNEL)
            files[name] = encoded(rng, text)
        case 3:
            what = "bytes"
            files[name] = mutate_bytes(rng, files[name])
        case _:
            what = rng.choice(list(SOURCES))
            files["case.toml"] = toml(SMALL_CASE).encode()
            files["kernel.cu"] = encoded(rng, SOURCES[what](rng))
    return HostileInput("cuda", what, case_command(rng), files)


def _body(*lines: str) -> str:
    return _HEAD + "".join(f"    {line}\n" for line in lines) + "}\n"


def _size(rng: Random) -> int:
    """Of something that repeats: mostly what compilers are used to, seldom far more."""
    return rng.choice((10, 100, 300, 1000, 3000, 10_000, 30_000))


def _sum(rng: Random) -> str:
    term = rng.choice(("x[i]", "1.0f", "(float)n", f"x[(i + {rng.randint(1, 9)}) % n]"))
    sign = f" {rng.choice('+-*')} "
    return _body(f"out[i] = {sign.join([term] * _size(rng))};")


def _else_if(rng: Random) -> str:
    arms = " else ".join(
        f"if (n == {k + 1000}) out[i] = {k};" for k in range(min(_size(rng), 3000))
    )
    return _body(arms, "else out[i] = x[i];" if rng.random() < 0.8 else "")


def _nested(rng: Random) -> str:
    depth = min(_size(rng), 3000)
    opening, closing = rng.choice(
        (
            ("if (n > 0) {", "}"),
            ("for (int k = 0; k < 1; k++) {", "}"),
            ("{", "}"),
            ("do {", "} while (0);"),
            ("while (n < 0) {", "}"),
            ("switch (n) { default:", "}"),
        )
    )
    return _body(opening * depth, "out[i] = x[i];", closing * depth)


def _parentheses(rng: Random) -> str:
    depth = _size(rng)
    opening, closing = rng.choice(
        (
            ("(", ")"),
            ("-(", ")"),
            ("!", ""),
            ("fabsf(", ")"),
            ("n ? ", " : 0"),
            ("x[(int)", "]"),
            ("~", ""),
            ("(float)", ""),
        )
    )
    return _body(f"out[i] = {opening * depth}n{closing * depth};")


def _statements(rng: Random) -> str:
    count = min(_size(rng), 3000)
    line = rng.choice(
        (
            "out[i] += x[i];",
            "int v{k} = i + {k};",
            "out[i + {k} * 0] = x[i];",
            ";",
            "__syncthreads();",
            "if (i == {k}) out[i] = {k};",
            "float a{k}[4] = {{1}};",
            'asm volatile("// {k}");',
        )
    )
    return _body(*(line.format(k=k) for k in range(count)))


def _parameters(rng: Random) -> str:
    count = min(_size(rng), 5000)
    return KERNEL.replace("int n)", "int n, " + ", ".join(f"int p{k}" for k in range(count)) + ")")


def _macros(rng: Random) -> str:
    lines = ["#define M0 x[i]"]
    lines += [f"#define M{k + 1} (M{k} + M{k})" for k in range(rng.choice((3, 10, 20, 30)))]
    return "\n".join(lines) + "\n" + _body(f"out[i] = M{len(lines) - 1};")


def _templates(rng: Random) -> str:
    depth = rng.choice((10, 300, 800, 5000, 10**9))
    return (
        "template <int N> struct F { static const int v = F<N - 1>::v + 1; };\n"
        "template <> struct F<0> { static const int v = 0; };\n" + _body(f"out[i] = F<{depth}>::v;")
    )


def _functions(rng: Random) -> str:
    count = min(_size(rng), 1000)
    keep = rng.choice(("", "__noinline__ ", "__forceinline__ "))
    made = ["__device__ float f0(float v) { return v; }"]
    made += [
        f"__device__ {keep}float f{k}(float v) {{ return f{k - 1}(v) * 1.5f + {k}; }}"
        for k in range(1, count)
    ]
    return "\n".join(made) + "\n" + _body(f"out[i] = f{count - 1}(x[i]);")


def _kernels(rng: Random) -> str:
    count = min(_size(rng), 300)
    return KERNEL + "".join(KERNEL.replace("scale", f"k{k}") for k in range(count))


def _behaviour(rng: Random) -> str:
    """Kernels that compile, and do what none should."""
    return _body(
        rng.choice(
            (
                "while (true) out[i] = x[i];",
                "for (;;) ;",
                "out[i + 1000000] = 1.0f;",
                "out[-1 - i] = x[i];",
                "*(volatile float *)0 = x[i];",
                "*(float *)((char *)out + 1) = 1.0f;",
                "out[i] = x[(long long)n << 40];",
                "__trap();",
                'asm("trap;");',
                "out[i] = 1 / (n - n);",
                "if (i % 2) __syncthreads(); out[i] = 1;",
                "__shared__ int l; l = 0; __syncthreads(); while (atomicCAS(&l, 0, 1));",
                "__shared__ volatile int flag; while (!flag); out[i] = flag;",
                "__shared__ float s[4]; s[i * 100] = 1.0f; out[i] = s[0];",
                "__shared__ float s[64]; out[i] = s[i - 70]; s[i - 250] = 1.0f;",
                "float k[2000]; for (int j = 0; j < 2000; j++) k[j] = x[j % n]; out[i] = k[n];",
                "float kept[100000000]; kept[i] = 1; out[i] = kept[n];",
                "for (int k = 0; k < 3000000; k++) out[i] += k;",
                'printf("%s %n %999999999d %f\\n", "a", &n, i, (double)x[i]);',
                'printf("%*.*f %lc %ls %", i, n, 1.0);',
                'for (int k = 0; k < 20000; k++) printf("line %d\\n", k);',
                "int *p = (int *)malloc(1ull << 50); p[i] = 1; free(p);",
                "free((void *)out); free((void *)out);",
                "memset(out, 1, 1ull << 40);",
                "assert(n < 0);",
                "__nanosleep(4000000000u); out[i] = clock64();",
                'asm volatile("bra HERE; HERE:");',
                'asm volatile("mov.u32 %0, %%laneid;" : "=r"(i)); out[i] = i;',
                'asm volatile("exit;"); out[i] = 1;',
                'asm volatile("bar.sync 15, 33;");',
                "out[i] = __shfl_sync(0, x[i], 99); out[i] = __shfl_sync(0x80000000, x[i], i);",
                "__syncwarp(1 << (i % 32)); out[i] = 1;",
                "goto end; end: out[i] = 1; goto end;",
                "out[i] = x[0 / 0.0f > 1 ? 1 : 0];",
                "long double d = x[i]; out[i] = d;",
                "extern __shared__ float t[]; out[i] = t[i];",
                "void (*f)(int) = (void (*)(int))12345; f(i);",
                "int a[n]; out[i] = a[0];",
                "scale<<<1, 1>>>(x, out, n);",
                "float *p = new float[n]; delete[] p; out[i] = p[0];",
                "return; out[i] = 1;",
                "",
            )
        )
    )


def _text(rng: Random) -> str:
    """What a preprocessor or a lexer may stumble over."""
    return rng.choice(
        (
            "",
            "\n" * 300_000,
            "/*",
            '"',
            "'",
            "\\",
            "#",
            "#include",
            "#include <",
            "\0",
            "\ufeff" + KERNEL,
            '#include "kernel.cu"\n' + KERNEL,
            '#include "/dev/zero"\n' + KERNEL,
            "#include <nothing.h>\n" + KERNEL,
            '#include "' + "a" * 5000 + '"\n' + KERNEL,
            "#include <iostream>\nint main() { scale<<<1, 1>>>(0, 0, 0); }\n" + KERNEL,
            "#line 2147483647\n" + KERNEL,
            '#line 1 "\\xff"\n' + KERNEL,
            "#error no\n" + KERNEL,
            "#pragma once\n" + KERNEL,
            '#line 7 "nowhere.cu"\n' + KERNEL,
            "#if 1\n" * 3000 + KERNEL + "#endif\n" * 3000,
            "#if 1\n" + KERNEL,
            "// é 𝔘 \u202e\n" + KERNEL,
            KERNEL.replace("tile", "größe"),
            KERNEL.replace("tile", "t" * 20_000),
            KERNEL.replace("scale", "s" * 300),
            KERNEL.replace("scale", "_Z5scalePKfPfi"),
            "namespace a { " + KERNEL + " }",
            "template <class T> " + KERNEL.replace("float", "T"),
            'extern "C" ' + KERNEL,
            "static " + KERNEL,
            KERNEL.replace("__global__", "__device__"),
            KERNEL.replace("__global__", "__global__ __launch_bounds__(0)"),
            KERNEL.replace("__global__", "__global__ __launch_bounds__(1024, 99)"),
            KERNEL.replace("__global__", "__global__ __launch_bounds__(99999)"),
            KERNEL.replace("__global__", "__global__ __launch_bounds__(32)"),
            KERNEL.replace("[64]", "[1 << 20]"),
            KERNEL.replace("[64]", "[1ull << 62]"),
            KERNEL.replace("[64]", "[]"),
            KERNEL.replace("\n", "\\\n"),
            KERNEL + KERNEL,
            KERNEL.replace("{", "<%"),
            KERNEL + "}" * 1000,
            "__device__ float big[1 << 30];\n" + KERNEL,
            "__constant__ float c[20000];\n" + KERNEL,
            "__device__ float big[1ull << 40];\n" + KERNEL,
            "__constant__ float c[1 << 28];\n" + KERNEL,
            "__managed__ float m[4];\n" + KERNEL,
            "texture<float> t;\n" + KERNEL,
            "class { } ;\n" + KERNEL,
            "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
            + KERNEL.replace("__syncthreads()", "cg::this_grid().sync()"),
            "#include <cuda_fp16.h>\n#include <mma.h>\n" + KERNEL,
            "int host = 3;\n" + KERNEL.replace("2.0f", "host"),
        )
    )


SOURCES: dict[str, Callable[[Random], str]] = {
    "a long sum": _sum,
    "arms of else if": _else_if,
    "nested blocks": _nested,
    "nested parentheses": _parentheses,
    "many statements": _statements,
    "many parameters": _parameters,
    "macros of macros": _macros,
    "deep templates": _templates,
    "a chain of functions": _functions,
    "many kernels": _kernels,
    "behaviour": _behaviour,
    "more behaviour": _behaviour,
    "further behaviour": _behaviour,
    "text": _text,
    "more text": _text,
    "further text": _text,
}
