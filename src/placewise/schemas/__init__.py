"""The JSON documents of Placewise: their keys, types and meanings, and their JSON Schemas.

Every class that :data:`DOCUMENTS` lists describes one document that a command prints with
``--json`` and that ``to_dict()`` of a result returns. Every document names its ``schema`` and its
``schema_version``. The version rises when a key goes, or changes its type or meaning; a new key
does not raise it. Numbers are finite: where a number does not exist, the value is null.
"""

from __future__ import annotations

from typing import Any

from placewise.errors import PlacewiseError
from placewise.schemas.advice import (
    AdviceDocument,
    AgnosticDocument,
    RewrittenDocument,
    WrittenDocument,
)
from placewise.schemas.installation import CasesDocument, DoctorDocument, DraftDocument
from placewise.schemas.layout import (
    JointDocument,
    LayoutDocument,
    ProgramJointDocument,
    ProgramLayoutDocument,
)
from placewise.schemas.lint import LintDocument
from placewise.schemas.machine import (
    LevelsDocument,
    MachineCheckDocument,
    MachineDifferenceDocument,
    MachineDocument,
    MachinesDocument,
)
from placewise.schemas.measurement import MeasurementsDocument
from placewise.schemas.page import PageDocument
from placewise.schemas.predictions.counters import CountersDocument
from placewise.schemas.predictions.execution import MachineCodeDocument, RunDocument
from placewise.schemas.predictions.prediction import (
    CalibrationDocument,
    TargetsDocument,
    TimeDocument,
    TimesDocument,
)
from placewise.schemas.predictions.program import ProgramDocument
from placewise.schemas.probe import ProbeDocument
from placewise.schemas.static_layout import StaticLayoutDocument
from placewise.schemas.sweep import SweepDocument
from placewise.schemas.trace import TraceDocument
from placewise.schemas.tune import TuneDocument
from placewise.schemas.validation import ReproductionDocument, ValidationDocument

DOCUMENTS: dict[str, type] = {
    "placewise-advice": AdviceDocument,
    "placewise-program": ProgramDocument,
    "placewise-layout": LayoutDocument,
    "placewise-static-layout": StaticLayoutDocument,
    "placewise-joint": JointDocument,
    "placewise-program-layout": ProgramLayoutDocument,
    "placewise-program-joint": ProgramJointDocument,
    "placewise-rewritten": RewrittenDocument,
    "placewise-written": WrittenDocument,
    "placewise-agnostic": AgnosticDocument,
    "placewise-times": TimesDocument,
    "placewise-time": TimeDocument,
    "placewise-targets": TargetsDocument,
    "placewise-calibration": CalibrationDocument,
    "placewise-sweep": SweepDocument,
    "placewise-counters": CountersDocument,
    "placewise-lint": LintDocument,
    "placewise-run": RunDocument,
    "placewise-trace": TraceDocument,
    "placewise-machine-code": MachineCodeDocument,
    "placewise-machines": MachinesDocument,
    "placewise-machine": MachineDocument,
    "placewise-machine-check": MachineCheckDocument,
    "placewise-machine-difference": MachineDifferenceDocument,
    "placewise-levels": LevelsDocument,
    "placewise-probe": ProbeDocument,
    "placewise-measurements": MeasurementsDocument,
    "placewise-validation": ValidationDocument,
    "placewise-reproduction": ReproductionDocument,
    "placewise-tune": TuneDocument,
    "placewise-page": PageDocument,
    "placewise-cases": CasesDocument,
    "placewise-draft": DraftDocument,
    "placewise-doctor": DoctorDocument,
}
"""The class that describes each document, by the document's ``schema``."""


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the document whose ``schema`` is ``name``.

    ``name`` is such as ``"placewise-advice"``. The schema allows no key that it does not describe.
    Raises PlacewiseError where no document has that name.
    """
    from pydantic import TypeAdapter

    if name not in DOCUMENTS:
        raise PlacewiseError(
            f"no document has the schema '{name}'", hint=f"one of {', '.join(DOCUMENTS)}"
        )
    found = TypeAdapter(DOCUMENTS[name]).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
