"""Measures a case in every legal placement of the GPU at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from placewise.advisor.forms.legal_placements import legal_placements
from placewise.choose import Legality, legal_spaces
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.gpu.device import Device
from placewise.gpu.measure import for_target, measure
from placewise.gpu.record import Measurement, PlacementRecord
from placewise.gpu.timing import Options
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.check_launch import check_launch
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.source import SourceView
from placewise.machine import Machine
from placewise.machine.device_machine import machine_for
from placewise.rewriter.rewrite import rewrite
from placewise.rewriter.rewritten import Rewritten
from placewise.space import Placement

MOST_COMBINATIONS = 512
"""Most combinations of spaces all of which are measured where they are legal."""
MOST = 200
"""Placements that are measured of a kernel with more combinations."""


def measure_case(
    case: Case,
    *,
    machine: Machine | None = None,
    ordinal: int = 0,
    options: Options | None = None,
    driver: Any = None,
    progress: Callable[[PlacementRecord], None] | None = None,
) -> Measurement:
    """Every placement of ``case`` that is legal on ``machine``, the present one first; of kernels
    with very many, some (:func:`placements_to_measure`).

    ``machine`` decides what is legal; left out, it is the bundled one that is nearest to the GPU.
    Placements that lower occupancy count as legal here: what they cost is to be found out.
    Raises DeviceError where there is no GPU, and what compiling and executing the case raises.
    """
    if case.language is not Language.CUDA:
        raise UnsupportedError(
            f"the kernel is {case.language}, only placements of CUDA C++ are measured",
            where=case.filename,
        )
    with Device(ordinal, driver) as device:
        target, name = device.target, device.name
        major = device.attribute("COMPUTE_CAPABILITY_MAJOR")
        minor = device.attribute("COMPUTE_CAPABILITY_MINOR")
    machine = machine or machine_for(name, (major, minor))
    read = read_case(for_target(case, target))
    case, kernel, view = read.case, read.kernel, read.view
    check_launch(case.launch, machine.limits, kernel.static_shared_bytes)
    execution = execute(kernel, case.launch, case.inputs)
    legality = legal_spaces(
        view, machine, execution, case.inputs, case.launch, kernel, allow_lower_occupancy=True
    )
    return measure(
        case,
        legal_versions(case, machine, view, legality),
        ordinal=ordinal,
        options=options,
        expected=execution,
        driver=driver,
        progress=progress,
    )


def placements_to_measure(legality: Legality) -> Iterator[Placement]:
    """Every legal placement, the present one first. Of kernels with more than ``MOST_COMBINATIONS``
    combinations of spaces: the present placement, every legal move of one array, and others drawn
    at random with a fixed seed, ``MOST`` in all."""
    spaces = [legality.searched(array) for array in legality.arrays]
    if math.prod(map(len, spaces)) <= MOST_COMBINATIONS:
        yield from legal_placements(legality)
        return
    present = legality.present
    yielded = {present.spaces}
    yield present
    random = np.random.default_rng(0)
    single = (
        tuple((a, space if a == array else now) for a, now in present.spaces)
        for array, of_array in zip(legality.arrays, spaces, strict=True)
        for space in of_array
    )
    drawn = (
        tuple(
            (a, of[random.integers(len(of))]) for a, of in zip(legality.arrays, spaces, strict=True)
        )
        for _ in range(MOST_COMBINATIONS)
    )
    for chosen in chain(single, drawn):
        placement = Placement(chosen)
        if chosen in yielded or legality.fits(placement) is not None:
            continue
        yielded.add(chosen)
        yield placement
        if len(yielded) == MOST:
            return


def legal_versions(
    case: Case, machine: Machine, view: SourceView, legality: Legality
) -> Iterator[Rewritten]:
    """The placements to measure, written out; one that cannot be written is left out."""
    for placement in placements_to_measure(legality):
        try:
            yield rewrite(case, placement, machine, view)
        except UnsupportedError:
            continue
