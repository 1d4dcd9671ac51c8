"""What active learning sees of a launch: histograms and choices beside those of full profiles.

``python -m benchmarks.active_profile``: every bundled case, those with few blocks or irregular
accesses in a larger size, on three GPUs. About five minutes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.active_profile.judge import Outcome, judge
from benchmarks.results import Figure, report
from placewise.cases import case_names, load_case
from placewise.cases.library import case_path
from placewise.kernel.cases.case import Case

MACHINES = ("A100", "T4", "K20c")
MOST_ACCESSES = 12_000_000
"""Accesses of the largest launch that is profiled in full."""
APART, SHARE = 0.02, 0.1
TWICE, LEAST = 2.0, 0.005
"""An estimate is not too low if the error is at most twice as much, or at most this."""
IRREGULAR = ("bfs", "spmv-skewed", "md", "sort")
LARGER = {
    "bfs": {"nodes": 1 << 20},
    "spmv-skewed": {"rows": 1 << 17},
    "md": {"atoms": 98_304},
    "sort": {"n": 1 << 22},
    "kmeans": {"points": 1 << 19},
    "stencil": {"nx": 512, "ny": 512},
    "matmul": {"n": 512},
}
"""Sizes in place of the case file's: long launches are what active learning is for."""


def cases() -> Iterator[Case]:
    """The bundled cases, some of them larger; names have the size."""
    for name in case_names():
        path = case_path(name)
        text = path.read_text()
        for size, value in LARGER.get(name, {}).items():
            text, changed = re.subn(rf"^{size} = \d+$", f"{size} = {value}", text, flags=re.M)
            assert changed == 1, f"{name} has no size {size}"
        if name not in LARGER:
            yield load_case(name)
            continue
        with TemporaryDirectory() as folder:
            for beside in path.parent.iterdir():
                Path(folder, beside.name).symlink_to(beside)
            file = Path(folder, f"{name}-larger.toml")
            file.write_text(text)
            yield load_case(file)


def outcomes() -> Iterator[Outcome]:
    """One for each case and machine whose full profile is affordable."""
    for case in cases():
        for machine in MACHINES:
            found = judge(case, machine, MOST_ACCESSES)
            if found is None:
                print(f"{case.name}: too many accesses for a full profile", flush=True)
                break
            print(found, flush=True)
            yield found


def figures(found: list[Outcome]) -> list[Figure]:
    """The figures asked for, then those of every kernel: the worst over the machines."""
    by_kernel: dict[str, list[Outcome]] = {}
    for one in found:
        by_kernel.setdefault(one.kernel, []).append(one)
    near = [
        kernel
        for kernel, all_ in by_kernel.items()
        if all(o.apart <= APART and o.looked_at <= SHARE for o in all_)
    ]
    same = sum(o.same_choice for o in found) / len(found)
    several = [o for o in found if o.units > 1]
    told = sum(o.apart <= max(LEAST, TWICE * o.estimated) for o in several) / len(several)
    seconds = sum(o.active_seconds for o in found) / sum(o.full_seconds for o in found)
    listed = [
        Figure(
            "kernels whose histograms are within 2 % (L1) at 10 % of accesses, on all machines",
            len(near), f"of {len(by_kernel)}", "at least 10", len(near) >= 10,
        ),
        Figure("same choice, kernel × machine", same, "share", "at least 0.9", same >= 0.9),
        Figure(
            f"errors of at most {TWICE:g} times their estimate, or {LEAST:g}, where several SMs "
            f"were looked at ({len(several)} of {len(found)})",
            told, "share", "at least 0.9", told >= 0.9,
        ),
        Figure("time to profile, active over full", seconds, "ratio", "", True),
    ]  # fmt: skip
    for kernel, all_ in sorted(by_kernel.items()):
        worst = max(all_, key=lambda o: o.apart)
        irregular = kernel in IRREGULAR
        listed.append(
            Figure(
                f"{kernel}: histogram apart at most, looking at "
                f"{max(o.looked_at for o in all_):.1%} (own estimate {worst.estimated:.3f})",
                worst.apart, "L1", "at most 0.02" if irregular else "",
                worst.apart <= APART or not irregular,
            )
        )  # fmt: skip
    return listed


if __name__ == "__main__":
    sys.exit(not report("active_profile", figures(list(outcomes()))))
