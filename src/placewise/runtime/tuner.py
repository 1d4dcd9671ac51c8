"""The runtime of one kernel: it decides which version each launch gets.

PORPLE's Placer (Chen et al. 2017, sections 3 and 4) profiles the first launch, places the data, and
runs the chosen version from then on. Here each class of launches has its own choice, and the
original runs whenever something is not certain.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from warnings import warn

import numpy as np

from placewise.advisor.finalists import Demand
from placewise.errors import CaseError, PlacewiseError
from placewise.kernel.cases.case import Language
from placewise.kernel.cases.given_accesses import GivenAccesses
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Dim3
from placewise.runtime.choice import Choice, Kept, choose, keep_original, unlike
from placewise.runtime.devices.place import Ready, Snapshot, Where
from placewise.runtime.launch_classes import Family, LaunchClass, Repeat
from placewise.runtime.launches.argument_types import check_types
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.doubt import DoubtError
from placewise.runtime.launches.facts import KernelFacts, check_read_only_loads, facts_of
from placewise.runtime.launches.shape_class import (
    class_key,
    describe_class,
    disk_key,
    type_signature,
)
from placewise.runtime.launches.values import ArrayValue, overlaps
from placewise.runtime.originals import Original
from placewise.runtime.report import ClassReport, TuneReport
from placewise.runtime.stopwatch import Overhead, Stopwatch

MOST_KEYS = 1 << 16
"""Most different sets of scalar values that are remembered."""
MOST_REPEATS = 1 << 10
"""Most launches that are remembered so that they can be repeated with little work."""


ProfileFunction = Callable[[Dim3, Dim3, Snapshot], Mapping[str, Any]]
"""Grid, block and arguments of a launch to the columns of its accesses
(:class:`placewise.kernel.cases.given_accesses.GivenAccesses`)."""


@dataclass(frozen=True)
class Settings:
    """The user's settings of the runtime."""

    demand: Demand
    """How probable and how large a predicted gain must be."""
    patience: float
    """Seconds that the advisor may take for one choice."""
    choices: int
    """Most classes of launches for which a choice is made."""
    kept: Kept
    layouts: bool = False
    """Whether arrays of structs may be converted to other layouts at each launch."""
    profile: ProfileFunction | None = None
    """Records the accesses of a launch in place of a run on the executor."""


class Tuner:
    """Launches one kernel. Safe to use from several threads: no launch waits for a choice that
    another thread is making; the original runs until the choice is made."""

    def __init__(
        self, kernel: Original, where: Callable[[Call], Where], settings: Settings
    ) -> None:
        self._original = kernel
        self._where = where
        self._settings = settings
        self._lock = threading.Lock()
        self._kernels: dict[tuple[str, ...], Kernel] = {}
        """Compiled kernels, by the types of the arguments and the target; ``_facts`` has the same
        keys."""
        self._facts: dict[tuple[str, ...], KernelFacts | DoubtError] = {}
        self._classes: dict[str, LaunchClass] = {}
        """Classes by key. Several keys may share a class if one reused the choice of another in its
        family."""
        self._chosen: list[LaunchClass] = []
        self._families: dict[str, Family] = {}
        self._repeats: dict[Hashable, Repeat] = {}
        """Launches of forms, by fingerprint."""
        self._doubts: dict[str, int] = {}
        """Number of launches of the original outside of any class, by reason."""
        self._compilation = 0.0

    def launch(self, call: Call) -> Any:
        """Launch the version that was chosen for ``call``. Returns what the original's launch
        returns, or None for another version. Raises what the original's launch raises."""
        start = time.perf_counter()
        where = None
        try:
            where = self._where(call)
            facts = self._facts_for(call, where)
            found, is_first = self._class_of(call, where, facts)
        except DoubtError as error:
            result = self._run_original(call, where)
            self.doubt(error.reason)
            return result
        if is_first:
            return self._first(call, where, facts, found)
        return self._later(call, where, found, time.perf_counter() - start)

    def repeat(self, known: Hashable) -> bool:
        """Launch what an earlier call with the fingerprint ``known`` launched, which skips most of
        the work of :meth:`launch`. Returns whether it did: False where there was no such call, the
        choice has changed, or this launch is to be compared with the original."""
        start = time.perf_counter()
        repeat = self._repeats.get(known)
        if repeat is None:
            return False
        found = repeat.of
        with self._lock:
            if found.ready is not repeat.ready or _is_compared(found.launches + 1):
                return False
        seconds = time.perf_counter() - start
        try:
            repeat.launch()
        except DoubtError:
            return False
        with self._lock:
            found.launches += 1
            found.tuned += 1
            found.repeating += seconds
        return True

    def doubt(self, reason: str) -> None:
        """Count a launch of the original, with the reason."""
        with self._lock:
            self._doubts[reason] = self._doubts.get(reason, 0) + 1

    def report(self) -> TuneReport:
        """Report on what the runtime did so far."""
        with self._lock:
            classes = tuple(
                ClassReport(
                    launches_of=c.what,
                    launches=c.launches,
                    tuned_launches=c.tuned,
                    moves=c.choice.moves,
                    why=c.choice.why,
                    present_ms=c.choice.present_ms,
                    chosen_ms=c.choice.chosen_ms,
                    faster=c.choice.faster,
                    from_cache=c.from_disk,
                    other_values=c.others,
                    overhead=c.overhead + Overhead(lookups=c.repeating),
                )
                for c in self._chosen
            )
            untuned = tuple(sorted(self._doubts.items()))
            reading = Overhead(compilation=self._compilation)
        return TuneReport(self._original.name, classes, untuned, reading)

    def _run_original(self, call: Call, where: Where | None) -> Any:
        if call.original is not None:
            return call.original()
        try:
            where = where or self._where(call)
        except DoubtError as error:
            # No library of the user can launch it either.
            raise CaseError(error.reason, where="arguments") from error
        where.place.run_original(call, self._compiled(call, where))
        return None

    def _compiled(self, call: Call, where: Where) -> Kernel:
        """The original, compiled for the types of ``call``'s arguments; raises PlacewiseErrors of
        its front end."""
        key = (where.arch, *type_signature(call))
        with self._lock:
            known = self._kernels.get(key)
        if known is not None:
            return known
        start = time.perf_counter()
        arguments = [v.thing if isinstance(v, ArrayValue) else v for v in call.values]
        made = self._original.compile(arguments, where.arch)
        check_types(self._original, call, where, made)
        with self._lock:
            self._compilation += time.perf_counter() - start
            return self._kernels.setdefault(key, made)

    def _facts_for(self, call: Call, where: Where) -> KernelFacts:
        """Facts of the kernel, compiled for the types of ``call``'s arguments. Raises DoubtError
        where it cannot be tuned."""
        key = (where.arch, *type_signature(call))
        with self._lock:
            known = self._facts.get(key)
        if known is None:
            known = self._read(call, where)
            with self._lock:
                self._facts[key] = known
        if isinstance(known, DoubtError):
            raise DoubtError(known.reason)
        return known

    def _read(self, call: Call, where: Where) -> KernelFacts | DoubtError:
        try:
            return facts_of(self._compiled(call, where), frozenset(n for n, _ in call.arrays))
        except DoubtError as error:
            return error
        except PlacewiseError as error:
            # If something is wrong with the kernel, the original's own launch will show it.
            return DoubtError(f"it cannot be read: {error.message}")

    def _class_of(self, call: Call, where: Where, facts: KernelFacts) -> tuple[LaunchClass, bool]:
        """The class of a launch, and whether this launch is its first one, for which a choice must
        be made.

        Raises DoubtError where there is no class: arrays share memory, or there are too many
        classes.
        """
        shared = overlaps(call.values)
        if shared:
            one, other = shared[0]
            raise DoubtError(f"arguments {one + 1} and {other + 1} share memory")
        unfit = next((n for n, v in call.arrays if not v.contiguous or not v.nbytes), None)
        if unfit is not None:
            raise DoubtError(f"argument {unfit + 1} is empty or not contiguous in C order")
        signature = (where.arch, *type_signature(call))
        key = class_key(signature, call, facts.deciding)
        with self._lock:
            found = self._classes.get(key)
            if found is not None:
                return found, False
            family = self._families.setdefault(class_key(signature, call, ()), Family())
            known = family.latest
            if known is not None and _is_between(family.values + 1) and _holds(known.choice, call):
                family.values += 1
                known.others += 1
                if len(self._classes) < MOST_KEYS:
                    self._classes[key] = known
                return known, False
            if len(self._chosen) >= self._settings.choices:
                raise DoubtError(f"more than {self._settings.choices} classes of launches")
            made = self._classes[key] = LaunchClass(describe_class(call, facts.deciding))
            family.values += 1
            family.latest = made
            self._chosen.append(made)
            return made, True

    def _later(self, call: Call, where: Where, found: LaunchClass, seconds: float) -> Any:
        """Launch the chosen version, if there is one and it is valid for ``call``; else the
        original."""
        with self._lock:
            found.launches += 1
            found.overhead += Overhead(lookups=seconds)
            ready, choice, number = found.ready, found.choice, found.launches
        if ready is None or not _holds(choice, call):
            return self._run_original(call, where)
        if _is_compared(number):
            return self._compare(call, where, found, ready)
        try:
            launch = where.place.launcher(ready, call)
            launch()
        except DoubtError:
            return self._run_original(call, where)
        except Exception as error:
            # An error in Placewise must not stop the user's program, as long as it can be undone.
            if not where.place.undoes_failures:
                raise
            self._give_up(found, f"the chosen version failed: {error}")
            return self._run_original(call, where)
        with self._lock:
            found.tuned += 1
            if call.fingerprint is not None:
                if len(self._repeats) >= MOST_REPEATS:
                    self._repeats.clear()
                self._repeats[call.fingerprint] = Repeat(found, ready, launch)
        return None

    def _compare(self, call: Call, where: Where, found: LaunchClass, ready: Ready) -> Any:
        """Launch the original, run the form on copies of the same arguments, and compare."""
        watch = Stopwatch(self._settings.patience)
        before = self._before(call, where, ready.original, watch)
        result = self._run_original(call, where)
        if isinstance(before, DoubtError):
            return result
        differs = None
        try:
            with watch.part("checks"):
                differs = unlike(
                    where.place.snapshot(call, ready.original),
                    where.place.attempt(ready, call, before),
                )
        except DoubtError:
            # No comparison was possible, so nothing changes for the form.
            pass
        except Exception as error:
            differs = f"the chosen version failed: {error}"
        if differs is not None:
            self._give_up(found, differs)
        with self._lock:
            found.overhead += watch.overhead
        return result

    def _give_up(self, found: LaunchClass, why: str) -> None:
        with self._lock:
            found.ready, found.choice = None, keep_original(why)

    def _first(self, call: Call, where: Where, facts: KernelFacts, found: LaunchClass) -> Any:
        """Launch the original, then make the choice for its class and compare it on this launch's
        arguments."""
        watch = Stopwatch(self._settings.patience)
        choice, ready, from_disk = keep_original("interrupted while it was chosen"), None, False
        try:
            before = self._before(call, where, facts.kernel, watch)
            result = self._run_original(call, where)
        except BaseException:
            # The launch itself failed or was interrupted: the next one makes the choice.
            with self._lock:
                self._forget(found)
            raise
        try:
            if isinstance(before, DoubtError):
                raise before
            choice, from_disk = self._choose(call, where, facts, before, watch)
            if choice.form is not None:
                ready = self._checked(choice, call, where, facts.kernel, before, watch)
        except DoubtError as error:
            choice = replace(keep_original(error.reason), present_ms=choice.present_ms)
        except Exception as error:
            # Whatever goes wrong while choosing, the user's program continues with the original.
            message = error.message if isinstance(error, PlacewiseError) else repr(error)
            choice = keep_original(f"choosing failed: {message}")
            warn(f"tuning {self._original.name}: {choice.why}; the original runs", stacklevel=2)
        finally:
            with self._lock:
                found.choice, found.ready, found.from_disk = choice, ready, from_disk
                found.overhead += watch.overhead
                found.launches += 1
        return result

    def _forget(self, found: LaunchClass) -> None:
        self._classes = {k: c for k, c in self._classes.items() if c is not found}
        self._chosen = [c for c in self._chosen if c is not found]
        self._families = {k: f for k, f in self._families.items() if f.latest is not found}

    def _before(
        self, call: Call, where: Where, kernel: Kernel, watch: Stopwatch
    ) -> Snapshot | DoubtError:
        try:
            with watch.part("profiling"):
                return where.place.snapshot(call, kernel)
        except DoubtError as error:
            return error
        except PlacewiseError as error:
            return DoubtError(error.message)

    def _choose(
        self, call: Call, where: Where, facts: KernelFacts, before: Snapshot, watch: Stopwatch
    ) -> tuple[Choice, bool]:
        """The choice for the class of ``call``, and whether it was read from disk."""
        settings = self._settings
        given = None
        if settings.profile is not None:
            with watch.part("profiling"):
                given = _given(settings.profile, call, before)
        key = disk_key(
            self._original.identity(facts.kernel),
            where.machine,
            where.arch,
            class_key(type_signature(call), call, facts.deciding),
            repr((settings.demand, settings.layouts, given and given.digest)),
        )
        kept = settings.kept.read(key)
        if kept is not None and _holds(kept, call):
            return kept, True
        case = replace(self._original.case(call.launch, before), profile=given)
        made = choose(case, where.machine, settings.demand, settings.layouts, watch)
        settings.kept.write(key, made)
        return made, False

    def _checked(
        self,
        choice: Choice,
        call: Call,
        where: Where,
        kernel: Kernel,
        before: Snapshot,
        watch: Stopwatch,
    ) -> Ready:
        """The form of ``choice``, compiled and compared with the arrays that the original just
        wrote. Raises DoubtError where it differs or cannot be proven."""
        assert choice.form is not None
        with watch.part("compilation"):
            ready = where.place.prepare(choice.form, kernel)
        with watch.part("checks"):
            if choice.form.language is not Language.CUDA:
                check_read_only_loads(ready.kernel, frozenset(n for n, _ in call.arrays))
            expected = where.place.snapshot(call, kernel)
            differs = unlike(expected, where.place.attempt(ready, call, before))
        if differs is not None:
            raise DoubtError(differs)
        return ready


def _given(profile: ProfileFunction, call: Call, before: Snapshot) -> GivenAccesses:
    """The accesses that a user's function records; it cannot write to the arrays."""
    seen = []
    for value in before:
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        seen.append(value)
    columns = profile(call.launch.grid, call.launch.block, tuple(seen))
    return GivenAccesses.of(columns, "the profile function")


def _is_compared(number: int) -> bool:
    """Whether launch ``number`` of a class (from 1) is compared with the original again. These are
    the 4th, 16th, 64th …, since the first launches of an iteration may do little."""
    return number > 1 and number & (number - 1) == 0 and number.bit_length() % 2 == 1


def _is_between(number: int) -> bool:
    """Whether ``number`` (from 1) is not a power of two. Only for the 1st, 2nd, 4th, 8th … set of
    scalar values a new choice is made, so that a counter among the arguments does not cost a choice
    at each launch."""
    return number & (number - 1) != 0


def _holds(choice: Choice, call: Call) -> bool:
    """Whether ``call`` has the values of the integer arguments that the choice's form depends
    on."""
    bound = () if choice.form is None else choice.form.bound
    values = ((call.values[n], expected) for n, expected in bound)
    return all(
        isinstance(value, int | np.integer) and int(value) == expected for value, expected in values
    )
