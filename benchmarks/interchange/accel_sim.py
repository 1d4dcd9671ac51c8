"""Traces read by Accel-Sim's own parser, beside what was traced."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from placewise.cases import load_case
from placewise.executor.exported import array_places, block_traces, write_accel_sim
from placewise.kernel.cases.prepare_case import compile_case, named_case

READER = Path(__file__).with_name("accel_sim_reader.cc")
CASES = ("spmv", "matmul", "transpose", "reduction", "scan", "bfs", "md", "fft")
ARCH, BLOCKS = "sm_80", 8
_WRAP = 1 << 64


def disagreements(parser: Path) -> dict[str, str]:
    """What Accel-Sim's parser, whose ``trace_parser.cc`` lies in the folder ``parser``, reads
    otherwise of each case's trace; empty text where nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in (READER, parser / "trace_parser.cc", parser / "trace_parser.h"):
            shutil.copy(file, folder)
        program = folder / "reader"
        command = ["g++", "-O1", "-w", "-include", "bitset", "-o", str(program)]
        sources = [str(folder / READER.name), str(folder / "trace_parser.cc")]
        subprocess.run([*command, *sources], check=True)
        return {case: _disagreement(case, folder / case, program) for case in CASES}


def _disagreement(name: str, folder: Path, program: Path) -> str:
    case = load_case(name)
    case = named_case(replace(case, options=replace(case.options, arch=ARCH)))
    kernel = compile_case(case)
    traces = list(block_traces(kernel, case.launch, case.inputs, blocks=BLOCKS))
    places = [(at, size) for _, at, size in array_places(kernel, case.inputs)]
    write_accel_sim(folder, kernel, case.launch, places, traces)
    instructions = [i for trace in traces for warp in trace.warps for i in warp]
    touched = [i.touched for i in instructions if i.touched is not None]
    lanes = sum(len(t.addresses) for t in touched)
    total = sum(int(t.addresses.sum()) for t in touched if t.space != "local") % _WRAP
    ours = (len(traces), len(instructions), len(touched), lanes, total, len(places))
    command = [str(program), str(folder / "kernelslist.g")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"the parser ended with {done.returncode}: {done.stderr.strip()[-200:]}"
    theirs = tuple(map(int, done.stderr.split()))
    return "" if theirs == ours else f"read {theirs}, traced {ours}"
