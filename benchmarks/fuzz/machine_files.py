"""Hostile machine files: the bundled ones, damaged, and sizes and conditions without measure."""

from __future__ import annotations

from importlib import resources
from random import Random

from benchmarks.fuzz.case_files import rich_files
from benchmarks.fuzz.examples import SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import NUMBERS, encoded, mutate_bytes, mutate_text

_CONDITIONS = (
    "warp{" + "(" * 300 + "address1" + ")" * 300 + " != address2}",
    "warp{address1 / 0 != address2}",
    "warp{}",
    "warp{true}",
    "warp{address1 % 0 == 0}",
    "warp{" + " && ".join(["address1 != address2"] * 5000) + "}",
    "quarter{address1 != address2}",
    "warp{floor(address1 / 1e-300) != 1}",
    "warp{nosuch1 != nosuch2}",
    "warp{-" + "-" * 3000 + "1 == 1}",
)
_LIMITS = (
    "multiprocessors",
    "registers_per_sm",
    "schedulers_per_sm",
    "max_threads_per_sm",
    "clock",
    "max_blocks_per_sm",
    "shared_memory_per_sm",
    "dram_bandwidth",
    "issues_per_scheduler",
    "max_threads_per_block",
    "compute_capability",
    "instruction_bandwidth",
    "copy_bandwidth",
)


def machine_input(rng: Random) -> HostileInput:
    """A hostile machine file, read alone or used for a small case."""
    folder = resources.files("placewise.machine") / "files"
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".msl"))
    text = (folder / rng.choice(names)).read_text()
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            what, data = "text", encoded(rng, mutate_text(rng, text))
        case 4:
            what, data = "bytes", mutate_bytes(rng, text.encode())
        case 5 | 6 | 7:
            what, text = _limit(rng, text)
            data = encoded(rng, text)
        case 8:
            condition = rng.choice(_CONDITIONS)
            what = condition[:60]
            data = text.replace(
                "warp{floor(address1/blockSize) != floor(address2/blockSize)}", condition, 1
            ).encode()
        case _:
            what, text = _structure(rng, text)
            data = text.encode()
    command = rng.choice(
        (
            ("machine", "check", "m.msl"),
            ("machine", "check", "m.msl", "--json"),
            ("machine", "show", "m.msl"),
            ("machine", "show", "m.msl", "--json"),
            ("machine", "diff", "m.msl", "A100"),
            ("machine", "diff", "A100", "m.msl", "--json"),
            ("advise", "case.toml", "-m", "m.msl", "--json"),
            ("counters", "case.toml", "-m", "m.msl", "--json"),
            ("machine-code", "case.toml", "-m", "m.msl"),
            ("lint", "case.toml", "-m", "m.msl"),
            ("probe", "--simulate", "m.msl", "--quick", "--only", "banks", "--quiet", "--json"),
        )
    )
    files = {**rich_files(), "case.toml": toml(SMALL_CASE).encode(), "m.msl": data}
    return HostileInput("machine", what[:100], command, files)


def _limit(rng: Random, text: str) -> tuple[str, str]:
    """One limit of the machine set to another number."""
    name, number = rng.choice(_LIMITS), rng.choice(NUMBERS)
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.strip().startswith(name) and "=" in line:
            left, _, right = line.partition("=")
            words = right.split()
            words[0] = number
            lines[at] = f"{left}= {' '.join(words)}"
    return f"{name} = {number}", "\n".join(lines)


def _structure(rng: Random, text: str) -> tuple[str, str]:
    made = {
        "empty": "",
        "blank lines": "\n" * 300_000 + text,
        "comments": "// c\n" * 100_000 + text,
        "an open comment": "/*" + text,
        "twice": text + text,
        "deep vectors": text.replace("<1024 1024 64>", "<" * 3000 + ">" * 3000),
        "long vectors": text.replace("<1024 1024 64>", f"<{'1 ' * 100_000}>"),
        "many cores": text.replace("64 core", "99999999999 core").replace("128 core", "0 core"),
        "many SMs": text.replace("die =", "die = 99999999"),
        "units": text.replace(" KB", rng.choice((" XB", " GB", "", " clk"))),
        "a long name": text.replace("machine ", "machine " + "m" * 5000, 1),
        "huge lines": text.replace("128B", "9223372036854775807B"),
        "no lines": text.replace("128B", "0B"),
        "odd lines": text.replace("128B", "127B"),
        "huge caches": text.replace("KB", "TB"),
        "latencies": text.replace("clk", "000000000000000000000clk"),
        "half": text[: len(text) // 2],
    }
    what = rng.choice(list(made))
    return what, made[what]
