"""Kernel Tuner on predicted times: tuning without a GPU, and a search strategy that runs
configurations in the order of their predicted times.

Kernel Tuner itself makes the launch (source, grid, block) of each configuration, so that the
predicted launches are those that it would run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placewise.advisor.predictions.predicted_time import predict_time
from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case
from placewise.machine import Machine, MachineLike, load_machine
from placewise.output_file import write_whole
from placewise.sweep.local_workers import outcomes_here
from placewise.sweep.predict import outcome_of
from placewise.sweep.store import Outcome
from placewise.sweep.tuner_files import cache_document, cache_text

MOST = 20_000
"""Most configurations of a search space that are predicted."""
_MAX_THREADS = 1_000_000_000
"""Most threads of a block for Kernel Tuner's restriction of the space in its simulation mode; so
large that it excludes nothing. Launches that no GPU can run get no predicted time."""


@dataclass(frozen=True, eq=False)
class TunedKernel:
    """A kernel with the arguments of Kernel Tuner's ``tune_kernel``."""

    name: str
    source: Any
    """Kernel Tuner's ``KernelSource`` of the kernel."""
    problem_size: Any
    arguments: Sequence[Any]
    grid_div: tuple[Any, Any, Any]
    block_size_names: Sequence[str] | None
    constants: Mapping[str, Any]
    shared: Mapping[str, Any]
    compiler_options: Sequence[str]

    def case(self, parameters: Mapping[str, Any]) -> Case:
        """The launch of one configuration. Raises CaseError where it cannot be made."""
        from kernel_tuner import util

        values = dict(parameters)
        names = list(self.block_size_names or util.default_block_size_names)
        names += util.default_block_size_names[len(names) :]
        problem = util.get_problem_size(self.problem_size, values)
        block = util.get_thread_block_dimensions(values, names)
        grid = util.get_grid_dimensions(problem, values, self.grid_div, names)
        _, text, _ = self.source.prepare_list_of_files(self.name, values, grid, block, names)
        shared = util.get_smem_args(dict(self.shared), values).get("size", 0) if self.shared else 0
        return make_case(
            self.name,
            text + "\n",
            list(self.arguments),
            grid=grid,
            block=block,
            shared_bytes=int(shared),
            constants=self.constants,
            flags=[o for o in self.compiler_options if not o.startswith("-arch")],
            name=self.name,
        )


def tune_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    *,
    machine: MachineLike,
    workers: int | None = None,
    cache: str | Path | None = None,
    **options: Any,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """``kernel_tuner.tune_kernel`` on predicted times of ``machine``, without a GPU.

    All configurations that the restrictions allow are predicted first, by ``workers`` processes
    (None: as many as there are processors); then Kernel Tuner runs in its simulation mode on them,
    with any strategy that ``options`` name. ``cache`` is the path of a cache file for the
    predictions; the other parameters are those of Kernel Tuner. Returns what Kernel Tuner returns:
    (results, environment); times are in milliseconds. Raises UnsupportedError where Kernel Tuner is
    not installed, for texture references and for a space of more than 20,000 configurations, and
    CaseError where no configuration has a predicted time.
    """
    tuner = _kernel_tuner()
    from kernel_tuner.core import KernelSource
    from kernel_tuner.searchspace import Searchspace

    chosen = load_machine(machine)
    restrictions, defines = options.get("restrictions"), options.get("defines")
    kernel = _kernel(
        {"kernel_name": kernel_name, "problem_size": problem_size, "arguments": arguments}
        | options,
        KernelSource(kernel_name, kernel_source, options.get("lang") or "CUDA", defines),
    )
    space = Searchspace(dict(tune_params), restrictions, _MAX_THREADS).list
    predictions = list(predicted(kernel, list(tune_params), space, chosen, workers))
    if all(outcome.milliseconds is None for _, outcome in predictions):
        raise CaseError("no configuration has a predicted time", hint=_first_error(predictions))
    document = cache_document(predictions, kernel=kernel_name, machine=chosen.name)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predicted.json" if cache is None else Path(cache)
        write_whole(file, cache_text(document))
        found: tuple[list[dict[str, Any]], dict[str, Any]] = tuner.tune_kernel(
            kernel_name,
            kernel_source,
            problem_size,
            arguments,
            dict(tune_params),
            cache=str(file),
            simulation_mode=True,
            **({"lang": "CUDA"} | options),
        )
    return found


class PredictedFirst:
    """A search strategy for Kernel Tuner: it runs configurations in the order of their predicted
    times until the budget is used up.

    Pass it as ``strategy=PredictedFirst("A100")`` to ``kernel_tuner.tune_kernel``, with
    ``strategy_options={"max_fevals": 20}`` or a time limit.
    """

    def __init__(self, machine: MachineLike, *, workers: int | None = None) -> None:
        """``machine`` is the GPU that runs the kernel; ``workers`` processes predict (None: as many
        as there are processors)."""
        self._machine = load_machine(machine)
        self._workers = workers

    def tune(self, searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
        """Called by Kernel Tuner. Returns the results of all configurations that were run."""
        _kernel_tuner()
        from kernel_tuner.strategies.common import CostFunc
        from kernel_tuner.util import StopCriterionReached

        kernel = _kernel(dict(runner.kernel_options), runner.kernel_source)
        names = list(searchspace.tune_params)
        made = predicted(kernel, names, searchspace.list, self._machine, self._workers)
        times = [(o.milliseconds, tuple(values.values())) for values, o in made]
        order = sorted(times, key=lambda one: float("inf") if one[0] is None else one[0])
        run = CostFunc(searchspace, tuning_options, runner, snap=False)
        try:
            for _, configuration in order:
                run(configuration, check_restrictions=False)
        except StopCriterionReached:
            # The budget is used up.
            pass
        found: list[dict[str, Any]] = run.results
        return found


def predicted(
    kernel: TunedKernel,
    names: Sequence[str],
    space: Sequence[Sequence[Any]],
    machine: Machine,
    workers: int | None = None,
) -> Iterator[tuple[dict[str, Any], Outcome]]:
    """(values by name, outcome) of each configuration in ``space``, in the same order. Raises
    UnsupportedError for a space of more than 20,000 configurations."""
    if len(space) > MOST:
        raise UnsupportedError(
            f"{len(space)} configurations are too many: at most {MOST} are predicted",
            where="tune_params",
            hint="restrict the space, or use `placewise validate --best`",
        )

    def predict(at: int) -> Outcome:
        values = dict(zip(names, space[at], strict=True))
        return outcome_of(lambda: predict_time(kernel.case(values), machine))

    count = workers or len(os.sched_getaffinity(0))
    found = dict(outcomes_here(range(len(space)), predict, workers=count))
    for at, configuration in enumerate(space):
        yield dict(zip(names, configuration, strict=True)), found[at]


def _kernel(options: Mapping[str, Any], source: Any) -> TunedKernel:
    if options.get("texmem_args"):
        raise UnsupportedError("texture references are not covered", where="texmem_args")
    return TunedKernel(
        str(options["kernel_name"]),
        source,
        options["problem_size"],
        list(options["arguments"]),
        (options.get("grid_div_x"), options.get("grid_div_y"), options.get("grid_div_z")),
        options.get("block_size_names"),
        dict(options.get("cmem_args") or {}),
        dict(options.get("smem_args") or {}),
        list(options.get("compiler_options") or ()),
    )


def _kernel_tuner() -> Any:
    try:
        import kernel_tuner
    except ImportError:
        raise UnsupportedError(
            "Kernel Tuner is not installed", hint="pip install 'placewise[kernel-tuner]'"
        ) from None
    return kernel_tuner


def _first_error(predictions: Sequence[tuple[Mapping[str, Any], Outcome]]) -> str:
    return next((o.error for _, o in predictions if o.error), "the space is empty").partition("\n")[
        0
    ]
