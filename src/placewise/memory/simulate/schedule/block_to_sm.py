"""Which SM each block of a launch runs on.

The blocks of the first wave go to SMs in turn. A later one goes wherever one ended before, which is
as good as at random: recorded L2 reads of convolutions with small blocks are those of neighbours
that meet on an SM now and then, while blocks dealt out in turn over and over never do, or always.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray


@functools.lru_cache(maxsize=256)
def block_slots(wave: int, sms: int, resident: int, seed: int) -> NDArray[np.int64]:
    """(sms * resident,) SM slot of each block of a wave: SM * resident + place on the SM;
    read-only.

    Cached, because launches that are compared have the same waves."""
    blocks = np.arange(sms * resident)
    if wave:
        place = np.random.default_rng((seed, wave)).permutation(blocks)
    else:
        place = blocks % sms * resident + blocks // sms
    place.flags.writeable = False
    return place
