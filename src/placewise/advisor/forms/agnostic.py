"""Kernels written out in one placement, or in several that a host program switches between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placewise.advisor.advice import Verification
from placewise.advisor.advise import advise
from placewise.advisor.forms.agnostic_settings import covering_settings, settings_count
from placewise.advisor.forms.carve_out import with_carve_out
from placewise.advisor.forms.own.own_arrays import PADDED, write_own
from placewise.advisor.forms.verify import verify
from placewise.advisor.forms.write_form import write_form
from placewise.advisor.predictions.moved_counters import check_arrays, check_spaces
from placewise.advisor.prepare import Prepared, prepare
from placewise.cases import CaseLike, load_case
from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.target import for_machine
from placewise.kernel.view.written_out.struct_members import (
    named_apart,
    with_members_apart,
    with_structs,
)
from placewise.machine import Machine, MachineLike, load_machine
from placewise.progress import Progress, silent
from placewise.rewriter import Rewritten, rewrite
from placewise.rewriter.agnostic import AgnosticForm, write_agnostic
from placewise.rewriter.agnostic.form import WantedVersion
from placewise.space import Placement

VERSIONS = 5
"""Coarse-grained versions at most, as Chen et al. 2017 (section 4) suggest."""
WORTH_A_VERSION = 0.97
"""A proven placement with a predicted time of at most this share of the present one's gets a
version, where there is room for one."""


@dataclass(frozen=True, eq=False)
class WrittenPlacement:
    """One placement written out and proven."""

    case: Case
    machine: Machine
    rewritten: Rewritten
    verification: Verification

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            **self.rewritten.to_dict(),
            "schema": "placewise-written",
            "case": self.case.name,
            "machine": self.machine.name,
            "verification": self.verification.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class WrittenVersion:
    """A coarse-grained version that was run."""

    kernel: str
    placement: Placement
    best_on: tuple[str, ...]
    verification: Verification


@dataclass(frozen=True, eq=False)
class AgnosticReport:
    """A placement-agnostic kernel, written and proven."""

    case: Case
    machines: tuple[Machine, ...]
    form: AgnosticForm
    versions: tuple[WrittenVersion, ...]
    spaces: dict[str, tuple[str, ...]]
    """Spaces in which the fine-grained kernel may have each array, by the array's name."""
    settings: tuple[tuple[Placement, Verification], ...]
    """Settings of the fine-grained kernel that were run."""
    possible: int
    """Number of all settings of the fine-grained kernel, including those whose arrays do not fit
    together."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "schema": "placewise-agnostic",
            "schema_version": 1,
            "case": self.case.name,
            "machines": [m.name for m in self.machines],
            "source": self.form.source,
            "header_name": self.form.header_name,
            "header": self.form.header,
            "versions": [
                {
                    "kernel": v.kernel,
                    "placement": dict(v.placement.spaces),
                    "chunk": v.placement.chunk,
                    "best_on": list(v.best_on),
                    "verification": v.verification.to_dict(),
                }
                for v in self.versions
            ],
            "any_kernel": self.form.any.kernel,
            "spaces": {array: list(spaces) for array, spaces in self.spaces.items()},
            "settings_run": len(self.settings),
            "settings_possible": self.possible,
            "notes": list(self.notes),
        }


def write_placement(
    case: CaseLike, machine: MachineLike, moves: Mapping[str, str], *, chunk: int | None = None,
    buffers: int = 1, nvrtc: str | None = None, progress: Progress = silent,
) -> WrittenPlacement:  # fmt: skip
    """Write ``case``'s kernel with arrays moved, such as ``{"x": "texture"}``, and prove it.

    Of a kernel without CUDA C++ source the loads are written, in its PTX.
    Arrays that the source declares itself move alone: see
    :func:`placewise.advisor.forms.own.own_arrays.write_own`.
    ``chunk`` asks for shared tiles of so many iterations of a loop at a time; with ``buffers`` 2,
    each array has two of them, one of which is fetched while the block computes with the other.
    Raises CaseError for an unknown array or space and for a placement that is not legal on
    ``machine``, UnsupportedError where the source cannot be written so, or where the written kernel
    does not compute the same bits on the case's inputs.
    """
    known = load_machine(machine)
    check_spaces({array: to for array, to in moves.items() if to != PADDED}, known)
    apart = with_members_apart(_with_compiler(load_case(case), nvrtc))
    moves = {named_apart(apart, array): space for array, space in moves.items()}
    prepared = prepare(apart, known, progress)
    rewritten = write_own(prepared.case, prepared.view, known, moves)
    if rewritten is None:
        check_spaces(moves, known)
        placement = replace(_legal(prepared, moves, chunk), buffers=buffers)
        progress("rewriting and verifying", 0, 0)
        if prepared.case.language is Language.CUDA:
            rewritten = rewrite(prepared.case, placement, known, prepared.view)
        else:
            moved = placement.moved_part(prepared.legality.present)
            rewritten = write_form(prepared, moved).rewritten
    found = verify(rewritten, prepared.case, prepared.execution)
    if not found.identical:
        raise UnsupportedError(
            f"the placement cannot be proven to compute the same: {found.detail}",
            where=prepared.case.filename,
        )
    rewritten = with_carve_out(rewritten, compile_case(rewritten.case), known)
    original = with_structs(prepared.case, prepared.case)
    return WrittenPlacement(original, known, rewritten, found)


def write_agnostic_kernel(
    case: CaseLike, machines: Sequence[MachineLike], moves: Mapping[str, str] | None = None, *,
    chunk: int | None = None, versions: int = VERSIONS, nvrtc: str | None = None,
    progress: Progress = silent,
) -> AgnosticReport:  # fmt: skip
    """Write ``case``'s kernel so that a host program chooses its placement while it runs.

    The best placement of each of ``machines`` gets a version, and so does ``moves`` if given; other
    proven gains follow until there are ``versions``. One fine-grained kernel has each array
    wherever it is legal on the first machine. Each version and the settings of the fine-grained
    kernel are run and compared bit for bit; the source is compiled for every machine. Raises
    CaseError and UnsupportedError, located, where that cannot be done.
    """
    loaded = [load_machine(machine) for machine in machines]
    if not loaded:
        raise CaseError("no machine is named", where="--machine", hint="give A100, for example")
    first = loaded[0]
    check_spaces(moves or {}, first)
    given = _with_compiler(load_case(case), nvrtc)
    prepared = prepare(given, first, progress)
    asked = _legal(prepared, moves, chunk) if moves else None
    spaces = {
        array: [first.space(name) for name in prepared.legality.searched(array)]
        for array in prepared.legality.arrays
    }
    # Raises now, before the long search, if the fine-grained kernel cannot be written at all.
    write_agnostic(prepared.case, prepared.view, first, spaces, [])
    wanted, notes = _wanted(given, loaded, asked, versions, progress)
    wanted, dropped = _writable(prepared, spaces, wanted)
    form = write_agnostic(prepared.case, prepared.view, first, spaces, wanted)
    written = _proven_versions(form, prepared, progress)
    settings = _proven_settings(form, prepared, progress)
    for machine in loaded[1:]:
        progress(f"compiling for {machine.name}", 0, 0)
        _compile_for(form, machine)
    return AgnosticReport(
        case=prepared.case,
        machines=tuple(loaded),
        form=form,
        versions=written,
        spaces=form.setting_spaces(),
        settings=settings,
        possible=settings_count(form.setting_spaces()),
        notes=(*prepared.notes, *notes, *dropped),
    )


def _with_compiler(case: Case, nvrtc: str | None) -> Case:
    return case if nvrtc is None else replace(case, options=replace(case.options, nvrtc=nvrtc))


def _legal(prepared: Prepared, moves: Mapping[str, str], chunk: int | None) -> Placement:
    """The placement of ``moves``; raises CaseError with the option of the move that is not
    legal."""
    check_arrays(moves, prepared.case)
    legality = prepared.legality
    for array, space in moves.items():
        if array not in legality.arrays:
            raise CaseError("the array cannot move", where=f"--place {array}={space}")
        reason = legality.reason(array, space)
        if reason is not None and chunk is None:
            raise CaseError(
                f"cannot be there on {prepared.machine.name}: {reason}",
                where=f"--place {array}={space}",
            )
    placement = Placement.of(moves, chunk)
    unfit = None if chunk else legality.fits(legality.present.with_moves(moves))
    if unfit is not None:
        raise CaseError(f"the arrays do not fit together: {unfit}", where="--place")
    return placement


def _wanted(
    case: Case, machines: Sequence[Machine], asked: Placement | None, versions: int,
    progress: Progress,
) -> tuple[list[WantedVersion], list[str]]:  # fmt: skip
    """Placements that get a version, the best of each machine first; and notes on them."""
    best: dict[Placement, list[Machine]] = {}
    others: list[tuple[float, Placement, Machine]] = []
    notes: list[str] = []
    for machine in machines:
        advice = advise(case, machine, undo=False, members=False, progress=progress)
        now = advice.present.placement
        chosen = advice.recommended
        if chosen is None:
            notes.append(f"{machine.name}: the kernel as it is")
        else:
            best.setdefault(_moves(chosen.placement, now), []).append(machine)
        for option in advice.options:
            if option is not chosen and option.proven and option.ratio <= WORTH_A_VERSION:
                others.append((option.ratio, _moves(option.placement, now), machine))
    wanted = [
        WantedVersion(
            placement,
            found[0],
            tuple(m.name for m in found),
            tuple(10 * m.limits.compute_capability[0] + m.limits.compute_capability[1]
                  for m in found),
        )
        for placement, found in best.items()
    ]  # fmt: skip
    if asked is not None and asked not in best:
        wanted.append(WantedVersion(asked, machines[0]))
    for _, placement, machine in sorted(others, key=lambda o: o[0]):
        if len(wanted) < versions and all(w.placement != placement for w in wanted):
            wanted.append(WantedVersion(placement, machine))
    return wanted, notes


def _moves(placement: Placement, present: Placement) -> Placement:
    # One file holds all versions, in the middle of which no header can be included.
    return replace(placement.moved_part(present), buffers=1)


def _writable(
    prepared: Prepared, spaces: Mapping[str, list[Any]], wanted: list[WantedVersion]
) -> tuple[list[WantedVersion], list[str]]:
    """The versions that can be written beside the others, and notes of those that cannot."""
    kept: list[WantedVersion] = []
    notes: list[str] = []
    for one in wanted:
        try:
            form = write_agnostic(
                prepared.case, prepared.view, prepared.machine, spaces, [*kept, one]
            )
            compile_case(form.version(form.versions[-1]).case)
        except UnsupportedError as error:
            words = ", ".join(f"{array} in {space}" for array, space in one.placement)
            notes.append(f"no version with {words}: {error.message}")
        else:
            kept.append(one)
    return kept, notes


def _proven_versions(
    form: AgnosticForm, prepared: Prepared, progress: Progress
) -> tuple[WrittenVersion, ...]:
    written = []
    for done, version in enumerate(form.versions):
        progress("running versions", done, len(form.versions))
        found = verify(form.version(version), prepared.case, prepared.execution)
        _demand(found, version.kernel, version.placement, form)
        written.append(WrittenVersion(version.kernel, version.placement, version.machines, found))
    return tuple(written)


def _proven_settings(
    form: AgnosticForm, prepared: Prepared, progress: Progress
) -> tuple[tuple[Placement, Verification], ...]:
    legality = prepared.legality

    def fits(setting: Placement) -> bool:
        whole = {**dict(legality.present.spaces), **dict(setting.spaces)}
        if legality.fits(Placement(tuple(whole.items()))) is not None:
            return False
        return form.buffers(setting).constant_bytes <= form.constant_bytes

    settings = covering_settings(form.setting_spaces(), fits)
    kernel = compile_case(form.at(settings[0]).case)
    proven = []
    for done, setting in enumerate(settings):
        progress("running settings of the fine-grained kernel", done, len(settings))
        found = verify(form.at(setting), prepared.case, prepared.execution, kernel)
        _demand(found, form.any.kernel, setting, form)
        proven.append((setting, found))
    return tuple(proven)


def _demand(found: Verification, kernel: str, placement: Placement, form: AgnosticForm) -> None:
    if not found.identical:
        where = ", ".join(f"{array} in {space}" for array, space in placement)
        raise UnsupportedError(
            f"{kernel} with {where} cannot be proven to compute the same: {found.detail}",
            where=form.case.filename,
        )


def _compile_for(form: AgnosticForm, machine: Machine) -> None:
    """Compile all kernels of the form for a machine; raises CompileError with the compiler's
    message."""
    case, _ = for_machine(form.case, machine)
    kernel = form.any.kernel + form.names.arguments
    compile_case(replace(case, source=form.source, kernel=kernel))
