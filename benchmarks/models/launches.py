"""The timeline on random launches: edge blocks against the whole launch, and bounds.

``python -m benchmarks.models.launches [--small 50] [--bounded 2000] [--seed N]`` needs no measured
data.

- *Edge blocks*: launches of a few waves whose last column and row of blocks are partly filled. The
  reference is the same timeline with nothing sampled: every block is traced, each kind of block
  goes through the simulated memory system by itself, and all blocks run on all SMs. It tells what
  sampling and putting together cost, not how far a GPU is from the timeline.
- *Bounds*: no time may be below what one of its parts needs alone, nor below the instructions that
  the busiest SM issues, counted here from the launch's own.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from benchmarks.results import Figure, report
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import Machine, load_machine
from placewise.model.base import Sampling
from placewise.model.evidence.evidence import evidence_of
from placewise.model.timeline.model import TimelineModel

SOURCE = Path(__file__).with_name("launches.cu")
SHAPES = ((32, 4), (16, 16), (32, 8), (64, 4), (8, 8), (128, 2), (16, 8))
KERNELS = ("filter", "staged", "chain")
ALL = 10**12
"""More instructions than any of these launches has."""
CLOSE = 0.05


class Case(NamedTuple):
    """One launch."""

    kernel: Kernel
    launch: Launch
    inputs: Inputs
    machine: Machine


def kernel_of(entry: str, machine: Machine, **defines: int) -> Kernel:
    """One of the kernels, for the architecture of ``machine``."""
    named = {"MEMORY": 0, "SHARED": 0, "MATH": 0, "STEP": 0, **defines}
    major, minor = machine.limits.compute_capability
    options = CompileOptions(
        arch=f"sm_{major}{minor}", defines=tuple((k, str(v)) for k, v in named.items())
    )
    return compile_kernel(SOURCE.read_text(), SOURCE.name, entry, options)


def inputs_of(width: int, height: int, rounds: int) -> Inputs:
    """Arguments of all kernels."""
    plane = np.zeros(width * height, np.float32)
    scalars = (("w", width), ("h", height), ("rounds", rounds))
    return Inputs(
        (
            ArrayArgument("a", plane),
            ArrayArgument("to", plane.copy()),
            *(ScalarArgument(name, np.int32(value)) for name, value in scalars),
        )
    )


def with_edges(draw: np.random.Generator, machines: tuple[Machine, ...]) -> Case:
    """A launch of at least two columns and rows of blocks, the last ones partly filled."""
    machine = machines[draw.integers(len(machines))]
    x, y = SHAPES[draw.integers(len(SHAPES))]
    columns, rows = int(draw.integers(2, 9)), int(draw.integers(3, 40))
    width = (columns - 1) * x + int(draw.integers(1, x + 1))
    height = (rows - 1) * y + int(draw.integers(1, y + 1))
    kernel = kernel_of(KERNELS[draw.integers(len(KERNELS))], machine)
    inputs = inputs_of(width, height, int(draw.choice([4, 16, 40])))
    return Case(kernel, Launch((columns, rows, 1), (x, y, 1)), inputs, machine)


def over_exact(case: Case) -> float:
    """The predicted time over that of the whole launch, both without the launch's overhead."""
    times = []
    for sampling, model in (
        (Sampling.FEW, TimelineModel()),
        (Sampling.EVERY, TimelineModel(instructions=ALL)),
    ):
        evidence = evidence_of(
            case.kernel, case.launch, case.inputs, case.machine, sampling=sampling
        )
        found = model.predict(evidence, case.machine)
        times.append(found.total - next(p.cycles for p in found.parts if p.path == "launch"))
    return times[0] / times[1]


def below_bounds(case: Case) -> float:
    """The largest bound over the predicted time, both without the launch's overhead."""
    evidence = evidence_of(case.kernel, case.launch, case.inputs, case.machine)
    found = TimelineModel().predict(evidence, case.machine)
    parts = {p.path: p.cycles for p in found.parts}
    overhead = parts.pop("launch")
    assert evidence.run is not None
    most = -(-case.launch.blocks // case.machine.processor.sms)
    issued = evidence.run.execution.warp_instructions / case.launch.blocks * most
    schedulers = case.machine.limits.schedulers_per_sm or 1
    return max(*parts.values(), issued / schedulers) / (found.total - overhead)


def random_launch(draw: np.random.Generator, kernels: list[tuple[Kernel, Machine]]) -> Case:
    """A launch of one of ``kernels`` in any shape."""
    kernel, machine = kernels[draw.integers(len(kernels))]
    grid = int(np.exp(draw.uniform(0.0, np.log(3000.0))))
    threads = int(draw.integers(1, 1025))
    inputs = inputs_of(256, 256, int(draw.integers(1, 12)))
    return Case(kernel, Launch((grid, 1, 1), (threads, 1, 1)), inputs, machine)


def main(
    small: Annotated[int, typer.Option(help="Small launches with edges.")] = 50,
    bounded: Annotated[int, typer.Option(help="Launches whose bounds are looked at.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 5,
) -> None:
    """Draw, predict, print a table, write results/models_launches.json."""
    draw = np.random.default_rng(seed)
    machine = load_machine("RTX2080Ti")
    few = replace(machine, processor=replace(machine.processor, tpcs=4, sms_per_tpc=2))
    ratios = np.array([over_exact(with_edges(draw, (machine, few))) for _ in range(small)])
    close = int((np.abs(ratios - 1.0) <= CLOSE).sum())
    kernels = []
    for name in ("RTX2080Ti", "A100"):
        target = load_machine(name)
        for _ in range(10):
            memory, shared = draw.integers(0, 2, 2).tolist()
            math, step = int(draw.choice([0, 1, 8, 64])), int(draw.choice([0, 1, 8, 33]))
            own = kernel_of("mixed", target, MEMORY=memory, SHARED=shared, MATH=math, STEP=step)
            kernels.append((own, target))
    over = np.array([below_bounds(random_launch(draw, kernels)) for _ in range(bounded)])
    figures = [
        Figure(
            "small launches with edges: within 5 % of the whole launch's timeline",
            close, f"of {small}", f"{small}", close == small,
        ),
        Figure(
            "worst of them", float(np.abs(ratios - 1.0).max() * 100), "%", "≤ 5 %",
            bool((np.abs(ratios - 1.0) <= CLOSE).all()),
        ),
        Figure(
            "random launches predicted below one of their bounds",
            int((over > 1.0 + 1e-9).sum()), f"of {bounded}", "0", bool((over <= 1.0 + 1e-9).all()),
        ),
    ]  # fmt: skip
    if not report("models_launches", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
