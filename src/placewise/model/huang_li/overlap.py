"""T_overlap: Eqs. 11 and 12 of Huang and Li 2017, a linear regression on memory events.

Events are per memory request, since the paper has its model "based on the event ratio instead of
the absolute event numbers". :class:`OverlapRegression` has the coefficients, the launches that they
were trained on, and the error on launches that were not in the training set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Events:
    """Memory events of a launch, each over its memory requests, and the warps of an SM."""

    global_: float
    """Global requests and their L2 misses (e_i)."""
    constant: float
    """Constant requests and their cache misses (e_j)."""
    texture: float
    """Texture requests and their cache misses (e_m)."""
    shared: float
    """Shared requests and bank conflicts (e_n)."""
    rows: float
    """Row-buffer misses and conflicts (e_k)."""
    warps: float
    """Resident warps of an SM."""


@dataclass(frozen=True)
class OverlapRegression:
    """Coefficients g, c, t, s, r, w and the constant of Eq. 11, and the launches they were fitted
    on."""

    coefficients: tuple[float, ...]
    """In the order of the fields of :class:`Events`."""
    constant: float
    trained_on: tuple[str, ...]
    """Every launch of the training set: kernel, placement, GPU."""
    training_error: float
    """Mean |fitted − observed| overlap ratio of the training set."""
    held_out: str = NOT_TESTED
    """Launches outside the training set that it was tested on, and the error there; or
    :data:`NOT_TESTED`."""

    def ratio(self, events: Events) -> float:
        """T_overlap / T_mem as Eq. 11 has it; it may leave [0, 1]."""
        terms = zip(self.coefficients, astuple(events), strict=True)
        return float(sum(c * e for c, e in terms)) + self.constant


def t_overlap(ratio: float, t_mem: float) -> float:
    """T_overlap = ratio · T_mem (Eq. 12)."""
    return ratio * t_mem


def bounded_overlap(overlap: float, t_comp: float, t_mem: float) -> float:
    """``overlap`` limited to the range from 0 to the shorter of the two times. The paper does not
    limit it, although its regression can leave this range."""
    return min(max(0.0, overlap), t_comp, t_mem)


def observed_ratio(t_comp: float, t_mem: float, measured: float) -> float:
    """Overlap ratio that a measured time implies (Eq. 1 solved for it), all in one unit."""
    return (t_comp + t_mem - measured) / t_mem


def fit_overlap(
    events: Sequence[Events],
    ratios: Sequence[float],
    trained_on: Sequence[str],
    *,
    merge: float | None = None,
) -> OverlapRegression:
    """Least squares of Eq. 11 over a training set. Where the set does not determine the
    coefficients (an event never varies), the smallest ones are taken. All three sequences have one
    entry per launch.

    With ``merge``, events whose counts over the training set have at least this cosine similarity
    count together and get one coefficient, as section II-B aggregates events of similar
    indications (there 0.94).
    """
    counts = np.array([astuple(e) for e in events], np.float64)
    groups = [[k] for k in range(counts.shape[1])] if merge is None else similar(counts, merge)
    matrix = np.stack(
        [*(counts[:, group].sum(axis=1) for group in groups), np.ones(len(counts))], axis=1
    )
    wanted = np.asarray(ratios, np.float64)
    # Imported here, since SciPy would make every command start later.
    from scipy.linalg import lstsq

    # Columns are scaled to the same size, so that "smallest" does not depend on units.
    scale = np.abs(matrix).max(axis=0)
    scale[scale == 0.0] = 1.0
    solution, *_ = lstsq(matrix / scale, wanted, cond=1e-9)
    found = np.asarray(solution, np.float64) / scale
    error = float(np.mean(np.abs(matrix @ found - wanted)))
    coefficients = np.zeros(len(fields(Events)))
    for group, coefficient in zip(groups, found, strict=False):
        coefficients[group] = coefficient
    return OverlapRegression(
        tuple(coefficients.tolist()), float(found[-1]), tuple(trained_on), error
    )


def similar(counts: NDArray[np.float64], threshold: float) -> list[list[int]]:
    """Columns of ``counts`` (launches, events) in groups: each column joins the first group whose
    first column has at least the cosine similarity ``threshold`` with it."""
    groups: list[list[int]] = []
    for k in range(counts.shape[1]):
        for group in groups:
            if cosine_similarity(counts[:, group[0]], counts[:, k]) >= threshold:
                group.append(k)
                break
        else:
            groups.append([k])
    return groups


def cosine_similarity(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """u · v / (|u| |v|) of two (n,) vectors; 0 where one is all zero."""
    scale = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / scale if scale else 0.0
