"""Measures a case in every legal placement of the GPU at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from placewise.advisor.forms.legal_placements import legal_placements
from placewise.choose import Legality, legal_spaces
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.gpu.device import Device
from placewise.gpu.measure import for_target, measure
from placewise.gpu.record import Measurement, PlacementRecord
from placewise.gpu.timing import Options
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.check_launch import check_launch
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.source import SourceView
from placewise.kernel.view import analyse_source
from placewise.machine import Machine
from placewise.machine.device_machine import machine_for
from placewise.rewriter.rewrite import rewrite
from placewise.rewriter.rewritten import Rewritten


def measure_case(
    case: Case,
    *,
    machine: Machine | None = None,
    ordinal: int = 0,
    options: Options | None = None,
    driver: Any = None,
    progress: Callable[[PlacementRecord], None] | None = None,
) -> Measurement:
    """Every placement of ``case`` that is legal on ``machine``, the present one first.

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
    case = for_target(case, target)
    view = analyse_source(case)
    case = bind_names(case, view)
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
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


def legal_versions(
    case: Case, machine: Machine, view: SourceView, legality: Legality
) -> Iterator[Rewritten]:
    """Every placement that fits, written out; one that cannot be written is left out."""
    for placement in legal_placements(legality):
        try:
            yield rewrite(case, placement, machine, view)
        except UnsupportedError:
            continue
