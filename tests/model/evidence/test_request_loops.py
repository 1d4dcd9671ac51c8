"""What tells requests apart, against sets of Python."""

import numpy as np
import pytest

from placewise.model.evidence.request_loops import sectors_of_requests, shapes_of_requests


def accesses(seed, n=40):
    """(n, 32) active lanes and offsets, many of which are alike."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 2000, (6, 32))
    offset = patterns[random.integers(0, 6, n)] + 128 * random.integers(0, 3, n)[:, None]
    masks = random.random((4, 32)) < np.array([1.0, 0.5, 0.1, 0.0])[:, None]
    return masks[random.integers(0, 4, n)], offset


@pytest.mark.parametrize("seed", range(20))
def test_requests_for_the_same_sectors_have_the_same_key(seed):
    mask, offset = accesses(seed)
    key = np.zeros(len(mask), np.uint64)
    total = sectors_of_requests(mask, offset, key)
    sets = [frozenset((o[m] // 32).tolist()) for m, o in zip(mask, offset, strict=True)]
    assert total == sum(map(len, sets))
    assert len(set(zip(sets, key.tolist(), strict=True))) == len(set(sets)) == len(set(key))


@pytest.mark.parametrize("seed", range(20))
def test_accesses_that_are_whole_lines_apart_have_the_same_shape(seed):
    mask, offset = accesses(seed)
    key = np.zeros(len(mask), np.int64)
    shapes_of_requests(mask, offset, key)
    shapes = []
    for m, o in zip(mask, offset, strict=True):
        start = o[m].min(initial=1 << 40) // 128 * 128
        shapes.append(tuple(np.where(m, o - start, -1).tolist()))
    assert len(set(zip(shapes, key.tolist(), strict=True))) == len(set(shapes)) == len(set(key))
