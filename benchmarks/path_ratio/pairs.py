"""Pairs of forms of one configuration: the predicted ratio of their times beside the measured."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.path_ratio.measured import PLAIN, Shape, Times
from benchmarks.path_ratio.predict import Predictions, Totals


@dataclass(frozen=True)
class Pair:
    """One form against plain global memory."""

    gpu: str
    block_x: int
    block_y: int
    tile_x: int
    tile_y: int
    switch: str
    how: str
    """rerun (traced itself) or retarget (from the plain form's trace)."""
    predicted: float
    literal: float
    """Predicted, the taps charged as loads from constant memory."""
    measured: float


def pair_up(gpu: str, predictions: Predictions, times: Times) -> list[Pair]:
    """All pairs of one group."""
    shape = predictions.shape
    rerun = dict(predictions.rerun)
    plain = rerun.pop(PLAIN)
    found = [("rerun", v, t) for v, t in rerun.items()]
    found += [("retarget", v, t) for v, t in predictions.retargeted if v in times]
    return [
        _pair(gpu, shape, v.switch, how, totals, plain, times[v] / times[PLAIN])
        for how, v, totals in found
    ]


def _pair(
    gpu: str, shape: Shape, switch: str, how: str, one: Totals, other: Totals, measured: float
) -> Pair:
    return Pair(
        gpu,
        shape.block_x,
        shape.block_y,
        shape.tile_x,
        shape.tile_y,
        switch,
        how,
        one.operands_free / other.operands_free,
        one.literal / other.literal,
        measured,
    )


def write_pairs(path: Path, pairs: Sequence[Pair]) -> None:
    """As a table, one row per pair."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Pair)], lineterminator="\n")
        writer.writeheader()
        for pair in pairs:
            row = asdict(pair)
            for name in ("predicted", "literal", "measured"):
                row[name] = f"{row[name]:.6g}"
            writer.writerow(row)


def read_pairs(path: Path) -> list[Pair]:
    """What :func:`write_pairs` wrote."""
    with path.open(newline="") as file:
        return [
            Pair(
                row["gpu"],
                int(row["block_x"]),
                int(row["block_y"]),
                int(row["tile_x"]),
                int(row["tile_y"]),
                row["switch"],
                row["how"],
                float(row["predicted"]),
                float(row["literal"]),
                float(row["measured"]),
            )
            for row in csv.DictReader(file)
        ]


def only(pairs: Iterable[Pair], **wanted: str) -> list[Pair]:
    """Pairs whose text fields have the given values."""
    return [p for p in pairs if all(getattr(p, k) == v for k, v in wanted.items())]
