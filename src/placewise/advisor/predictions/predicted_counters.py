"""Predicted hardware counters of a case under a profiler's names, beside measured ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placewise.advisor.documents.counters import counters_document
from placewise.cases import load_case
from placewise.dataframe import dataframe
from placewise.errors import UnsupportedError
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.target import for_machine
from placewise.machine import Machine, load_machine
from placewise.memory.simulate.caches.last_level.other_l2_sizes import LINES, OtherSize, other_sizes
from placewise.memory.simulate.launch import SimulatedLaunch, simulate_launch
from placewise.memory.simulate.metrics.ncu_metrics import Metric, launch_metrics, with_zeros
from placewise.memory.simulate.system import RECORDS
from placewise.model.evidence.evidence import evidence_of
from placewise.model.registry import DEFAULT, MODELS
from placewise.notebook import ShownInNotebooks
from placewise.progress import Progress, silent
from placewise.recorded.recorded_counters import launch_and_differences, read_measured
from placewise.recorded.recorded_launch import MeasuredLaunch, executed

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class CounterReport(ShownInNotebooks):
    """Predicted counters of one launch."""

    case: Case
    run: SimulatedLaunch
    metrics: tuple[Metric, ...]
    """Counters of the whole launch."""
    measured: MeasuredLaunch | None
    microseconds: float | None
    """Time over which the machine's own background reads of L2 are counted; None where the machine
    file has no rate for such reads."""
    notes: tuple[str, ...]
    sizes: tuple[OtherSize, ...] = ()
    """Misses that L2 caches of other sizes would have; empty unless asked for."""
    differs: tuple[str, ...] = ()
    """How the recorded launch differs from this one, in words."""
    moves: tuple[tuple[str, str], ...] = ()
    """(array, space) of the arrays that are in another memory than the case has them in."""

    def _in_short(self) -> str:
        moves = ", ".join(f"{array} → {space}" for array, space in self.moves)
        moved = f" with {moves}" if moves else ""
        beside = "" if self.measured is None else " beside recorded ones"
        counters = f"{len(self.metrics)} counters{beside}; to_dataframe() lists them"
        return f"{self.run.kernel.name} on {self.run.machine.name}{moved}: {counters}"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise counters --json`` prints."""
        return counters_document(self)

    def to_dataframe(self) -> DataFrame:
        """A row for each counter: ``counter``, ``value``, ``standard_error``, ``measured`` (None
        where nothing was recorded)."""
        recorded = {} if self.measured is None else self.measured.values
        rows = [
            {
                "counter": m.name,
                "value": m.value,
                "standard_error": m.error,
                "measured": recorded.get(m.name),
            }
            for m in self.metrics
        ]
        return dataframe(rows)


# Public and keyword-only: one parameter for each option; the stages in their order.
def predict_counters(
    case: Case | str | Path,
    machine: Machine | str | Path,
    *,
    nvrtc: str | None = None,
    measured: Path | None = None,
    row: int | None = None,
    seen_in: Mapping[str, str] | None = None,
    sizes: bool = False,
    lines: int = 0,
    records: int = RECORDS,
    instruction_limit: int | None = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> CounterReport:
    """Predict the hardware counters of ``case`` on ``machine`` by simulating its memory system.

    The kernel's machine code is executed where that is possible, else its PTX. ``nvrtc`` replaces
    the case's compiler version. ``measured`` is a file of recorded counters; its launch ``row``
    (from 0), or the only launch of this kernel, is compared. ``seen_in`` maps arrays to memory
    spaces: their accesses are counted as if they were in that space, whatever the code does. With
    ``sizes`` the misses that L2 caches of other sizes would have are found, too. The first
    ``lines`` lines that L2 is asked for are kept in the launch's traffic. About ``records`` warp
    accesses are simulated, and a warp that executes more than ``instruction_limit`` instructions
    is taken to be endless. ``progress`` is called with what is being done, how much of it is done,
    and how much there is (0 where unknown). Raises PlacewiseError for bad input.
    """
    loaded = load_case(case)
    chosen = load_machine(machine)
    check_case(loaded, chosen.limits)
    loaded, stand_in = for_machine(loaded, chosen, nvrtc)
    launches = read_measured(measured) if measured is not None else ()
    progress("compiling", 0, 0)
    kernel = compile_case(loaded)
    check_case(loaded, chosen.limits, kernel.static_shared_bytes)
    loaded = named_case(loaded)
    ran = executed(kernel, loaded.launch, loaded.options.defines, chosen)
    compared: MeasuredLaunch | None = None
    differs: tuple[str, ...] = ()
    if measured is not None:
        compared, differs = launch_and_differences(launches, ran, row, str(measured))
    run = simulate_launch(
        kernel,
        loaded.launch,
        loaded.inputs,
        chosen,
        placement=seen_in,
        records=records,
        slices=True,
        arrived=max(lines, LINES if sizes else 0),
        instruction_limit=instruction_limit,
        progress=lambda done, total: progress("running blocks", done, total),
    )
    notes = ([stand_in] if stand_in else []) + list(run.notes)
    microseconds, note = _background_time(kernel, loaded, chosen, compared)
    metrics = launch_metrics(run, microseconds=microseconds)
    notes += [note] if note else []
    if compared is not None:
        metrics = with_zeros(metrics, compared.values)
        if not any(m.name in compared.values for m in metrics):
            notes.append(
                f"{measured} has none of these counters; ncu --metrics NAME,… records them"
            )
    return CounterReport(
        loaded,
        run,
        metrics,
        compared,
        microseconds,
        tuple(notes),
        sizes=other_sizes(run) if sizes else (),
        differs=differs,
        moves=tuple((seen_in or {}).items()),
    )


def _background_time(
    kernel: Kernel, case: Case, machine: Machine, measured: MeasuredLaunch | None
) -> tuple[float | None, str]:
    """Microseconds for which the machine's own reads are counted, and a note that says so: the
    recorded time of the launch where there is one, else the predicted one."""
    if not any(m.detail.background_gb_per_s for m in machine.memories):
        return None, ""
    what = "L2 reads include the machine's own background reads"
    if measured is not None and measured.microseconds is not None:
        time = measured.microseconds
        return time, f"{what}, for the recorded {_in_words(time)}"
    try:
        evidence = evidence_of(kernel, case.launch, case.inputs, machine)
        nanoseconds = MODELS[DEFAULT].make().predict(evidence, machine).nanoseconds
    except UnsupportedError:
        nanoseconds = None
    if nanoseconds is None:
        return None, f"no time is known, so L2 reads lack the background reads of {machine.name}"
    time = nanoseconds * 1e-3
    return time, f"{what}, for the predicted {_in_words(time)}"


def _in_words(microseconds: float) -> str:
    return f"{microseconds:,.0f} µs" if microseconds >= 1000 else f"{microseconds:.4g} µs"
