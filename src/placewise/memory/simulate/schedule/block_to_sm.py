"""Which SM each block of a launch runs on.

The blocks of the first wave are assigned to the SMs in turn. A later block starts on an SM where
another block has just ended, which is nearly random. This agrees with recorded L2 reads of
convolutions with small blocks: neighbouring blocks sometimes run on the same SM. If all blocks were
assigned in turn, neighbours would never be on the same SM, or always.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray


@functools.lru_cache(maxsize=256)
def block_slots(wave: int, sms: int, resident: int, seed: int) -> NDArray[np.int64]:
    """(sms * resident,) SM slot of each block of a wave, which is SM * resident + place on the SM;
    read-only.

    The result is cached, because launches that are compared have the same waves."""
    blocks = np.arange(sms * resident)
    if wave:
        place = np.random.default_rng((seed, wave)).permutation(blocks)
    else:
        place = blocks % sms * resident + blocks // sms
    place.flags.writeable = False
    return place
