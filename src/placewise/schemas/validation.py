"""Documents of `placewise validate` and `placewise reproduce`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from placewise.schemas.common import document


class Accuracy(TypedDict):
    """One model on one table. Shares are fractions of 1; null where a figure does not exist."""

    configurations: int
    """Configurations that the model answered for."""
    mean_error: float | None
    """Mean of |predicted − measured| / measured; null for a model of ratios only."""
    median_error: float | None
    """Median of the relative errors."""
    scaled_mean_error: float | None
    """Mean error after one free factor for the whole table, as the clock is not known."""
    scaled_median_error: float | None
    """Median error after one free factor for the whole table."""
    factor: float | None
    """The free factor for the whole table, measured over predicted."""
    spearman: float | None
    """Spearman's rank correlation."""
    regret: float | None
    """Measured time of the model's first choice over the measured optimum, less 1."""
    regret_of_20: float | None
    """Best measured time of the model's first twenty over the measured optimum, less 1."""
    coverage: float | None
    """Share of measured times inside the predicted interval."""


class PlacementError(TypedDict):
    """Predicted ratios of pairs of configurations that differ in one placement parameter."""

    parameter: str
    """The parameter."""
    pairs: int
    """Pairs of configurations."""
    error: float
    """Mean of |predicted − measured| / measured of the ratio."""
    no_change: float
    """Error of the guess that nothing changes."""


class Refusal(TypedDict):
    """A reason why a model gave no answer."""

    why: str
    """The reason."""
    configurations: int
    """Configurations that it applies to."""


class PredictedTime(TypedDict):
    """A model's answer for one configuration."""

    row: int
    """Position in `chosen`."""
    predicted: float
    """Nanoseconds, or the model's own measure."""
    low: float
    """Lower end of its range."""
    high: float
    """Upper end of its range."""
    notes: list[str]
    """What the model says must be known to judge the answer."""


class ModelResult(TypedDict):
    """One model on one table."""

    model: str
    """Name of the model."""
    unit: Literal["ns"] | None
    """Null for a model that gives ratios only."""
    accuracy: Accuracy | None
    """Null where it answered for no configuration."""
    placements: list[PlacementError]
    """Errors of predicted ratios."""
    refused: list[Refusal]
    """Why it gave no answer, the most frequent reason first."""
    predictions: list[PredictedTime]
    """Answers of the model."""


class SearchResult(TypedDict):
    """How configurations were searched for, with `--best`."""

    sampled: int
    """Configurations chosen at random."""
    finished: bool
    """No unseen configuration was promising any more."""


class MeasuredConfiguration(TypedDict):
    """A configuration with its measured time."""

    configuration: dict[str, int | float | str | bool]
    """Values of the tuning parameters."""
    measured_ns: float
    """Measured time."""


class TableResult(TypedDict):
    """All models on one table of measured times."""

    file: str
    """The table's file."""
    device: str | None
    """The GPU that the file names."""
    machine: str
    """The machine that was predicted."""
    configurations: int
    """Configurations of the table that have a time."""
    without_time: int
    """Configurations that failed."""
    search: SearchResult | None
    """Null without `--best`."""
    chosen: list[MeasuredConfiguration]
    """Configurations that were predicted."""
    models: list[ModelResult]
    """One for each model."""


@document
class ValidationDocument(TypedDict):
    """Models beside measured times: `placewise validate --json`."""

    schema: Literal["placewise-validation"]
    schema_version: Literal[1]
    tables: list[TableResult]
    """One for each file."""


class PaperTable(TypedDict):
    """A table of a paper beside what the program computes."""

    title: str
    """Title of the table."""
    columns: list[str]
    """Heads of the columns."""
    rows: list[list[str | float | int | bool | None]]
    """Cells, row by row."""
    notes: list[str]
    """Remarks, in sentences."""


class Reproduction(TypedDict):
    """What was recomputed of one paper."""

    name: str
    """Name of the reproduction, such as `hu-liu`."""
    paper: str
    """The paper."""
    verdict: str
    """What came out, in a sentence."""
    figures: dict[str, float | None]
    """The figures that the verdict rests on."""
    missing: list[str]
    """What was not recomputed or is assumed, in sentences."""
    tables: list[PaperTable]
    """The tables."""


@document
class ReproductionDocument(TypedDict):
    """Recomputed tables of papers: `placewise reproduce --json`."""

    schema: Literal["placewise-reproduction"]
    schema_version: Literal[1]
    reproductions: list[Reproduction]
    """One for each paper."""
