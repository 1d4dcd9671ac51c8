"""Valid inputs in hostile surroundings: interrupts, lost output, encodings, caches, folders."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from benchmarks.fuzz.case_files import rich_files
from benchmarks.fuzz.examples import KERNEL, RICH_CASE, SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput, Surroundings

_SLOW = (
    "#include <cub/cub.cuh>\n"
    + "".join(
        f"template <int N> __device__ float f{k}(float v) {{"
        f" for (int i = 0; i < N; i++) v = v * v + {k};"
        " return v; }\n"
        for k in range(400)
    )
    + KERNEL.replace(
        "* 2.0f", "* 2.0f + " + " + ".join(f"f{k}<{k % 90 + 9}>(x[i])" for k in range(400))
    )
)
"""A kernel that NVRTC compiles for many seconds."""
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("run", "case.toml"),
    ("run", "case.toml", "--check"),
    ("run", "case.toml", "--json", "--out", "o.npz"),
    ("advise", "case.toml", "-m", "A100"),
    ("advise", "case.toml", "-m", "A100", "--json", "--out", "d"),
    ("counters", "case.toml", "-m", "A4000", "--json"),
    ("machine-code", "case.toml", "-m", "A4000"),
    ("machine", "list"),
    ("machine", "show", "A100"),
    ("machine", "check", "A100"),
    ("cases",),
    ("--help",),
    ("run", "--help"),
    ("--version",),
    ("reproduce", "hu-liu"),
    ("run", "missing.toml"),
    ("nosuch",),
)


def surroundings_input(rng: Random) -> HostileInput:
    """A small case, run where something else is wrong."""
    files = {**rich_files(), "case.toml": toml(SMALL_CASE).encode()}
    made = HostileInput("surroundings", "", rng.choice(_COMMANDS), files)
    make = rng.choice(
        (
            _interrupt,
            _interrupt,
            _interrupt,
            _output,
            _output,
            _encoding,
            _cache,
            _cache,
            _folder,
            _name,
        )
    )
    return make(rng, made)


def _interrupt(rng: Random, made: HostileInput) -> HostileInput:
    """SIGINT at the start, while modules load, while compilers run, while a kernel runs."""
    files = dict(made.files)
    command = rng.choice(_COMMANDS[:7])
    after = rng.choice(
        (rng.uniform(0, 0.08), rng.uniform(0, 0.3), rng.uniform(0, 2), rng.uniform(0, 5))
    )
    source = "small"
    if rng.random() < 0.25:
        source, files["kernel.cu"] = "slow to compile", _SLOW.encode()
    elif rng.random() < 0.3:
        source = "endless"
        files["kernel.cu"] = KERNEL.replace("k < 3", "k < 3 || n > 0").encode()
    group = rng.random() < 0.5
    what = f"SIGINT after {after:.3f} s, {source} kernel"
    around = Surroundings(fresh=True, interrupt_s=after, whole_group=group)
    return replace(made, what=what, command=command, files=files, surroundings=around)


def _output(rng: Random, made: HostileInput) -> HostileInput:
    stdout = rng.choice(("read-only", "closed", "full", "closed pipe"))
    return replace(
        made,
        what=f"standard output {stdout}",
        surroundings=Surroundings(fresh=True, stdout=stdout),
    )


def _encoding(rng: Random, made: HostileInput) -> HostileInput:
    """Output that cannot show every letter, of inputs that hold such letters."""
    files = dict(made.files)
    case = {**SMALL_CASE, "description": "é\u202e\x1b[31m[red]"}
    files["case.toml"] = toml(case).encode()
    files["kernel.cu"] = KERNEL.replace("tile", "größe").encode()
    if rng.random() < 0.3:
        files["case.toml"] = toml(RICH_CASE).replace("rich.cu", "größe.cu").encode()
    how = rng.choice(
        (
            {"PYTHONIOENCODING": "ascii"},
            {"PYTHONIOENCODING": "latin-1"},
            {"PYTHONIOENCODING": "utf-16"},
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"LANG": "de_DE.ISO-8859-1", "PYTHONUTF8": "0"},
            {"TERM": "dumb", "COLUMNS": "1"},
            {"COLUMNS": "0"},
            {"COLUMNS": "-5"},
            {"COLUMNS": "x"},
            {"FORCE_COLOR": "1", "PYTHONIOENCODING": "ascii"},
            {"PYTHONIOENCODING": "ascii:strict", "COLUMNS": "40"},
        )
    )
    command = rng.choice((*_COMMANDS[:11], ("run", "größe.toml"), ("advise", "é", "-m", "ü")))
    around = Surroundings(fresh=True, environment=how)
    return replace(
        made, what=f"environment {how}", command=command, files=files, surroundings=around
    )


def _cache(rng: Random, made: HostileInput) -> HostileInput:
    cache = rng.choice(("damaged", "damaged", "read-only", "twice"))
    command = rng.choice(_COMMANDS[:7])
    around = Surroundings(fresh=True, cache=cache)
    return replace(made, what=f"cache {cache}", command=command, surroundings=around)


def _folder(rng: Random, made: HostileInput) -> HostileInput:
    """A working folder that is gone, a home that is none, values of variables that are no paths."""
    if rng.random() < 0.4:
        around = Surroundings(fresh=True, delete_folder=True)
        return replace(made, what="deleted folder", surroundings=around)
    name = rng.choice(("HOME", "XDG_CACHE_HOME", "TMPDIR", "XDG_CONFIG_HOME", "PATH"))
    value = rng.choice(
        ("/nonexistent", "/dev/null", "/proc", "", "relative", "a" * 300, "~nouser", "\u202e")
    )
    around = Surroundings(fresh=True, environment={name: value})
    return replace(made, what=f"{name}={value[:20]}", surroundings=around)


def _name(rng: Random, made: HostileInput) -> HostileInput:
    """Names of files, machines and values on the command line."""
    name = rng.choice(
        (
            "a" * 300,
            "~nouser/x",
            "~nouser",
            "/dev/null",
            "/dev/null/x",
            ".",
            "",
            "/",
            "é" * 200,
            "x\ny",
            "[red]",
            "\udcff",
            "-",
            "--",
            "9" * 5000,
            "nan",
            "1e999ms",
            "0ms",
            "-3ms",
            "/proc/self/mem",
            "d/../../../x",
        )
    )
    command = rng.choice(
        (
            ("run", name),
            ("run", "case.toml", "-m", name),
            ("run", "case.toml", "--arch", name),
            ("run", "case.toml", "--out", name),
            ("run", "case.toml", "--save", name),
            ("run", "case.toml", "--check", "--sarif", name),
            ("run", "case.toml", "--nvrtc", name),
            ("run", "case.toml", "--threads", name),
            ("run", "case.toml", "--limit", name),
            ("advise", "case.toml", "-m", "A100", "--out", name),
            ("advise", "case.toml", "-m", "A100", "--measured", name),
            ("advise", "case.toml", "-m", name),
            ("machine", "show", name),
            ("machine", "from-mt4g", name),
            ("machine", "curve", name),
            ("counters", "case.toml", "-m", "A100", "--place", f"x={name}"),
            ("validate", name, "--case", "case.toml", "-m", "A100"),
            ("validate", "case.toml", "--case", name, "-m", "A100"),
            ("probe", "--simulate", name),
            ("lint", "case.toml", "-m", "A100", "--sarif", name),
            ("measure", "case.toml", "--out", name),
        )
    )
    return replace(made, what=f"a name {name[:20]!r}", command=command)
