"""Generated matrices kept on disk: assembling one takes longer than the advice on its kernel."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from placewise.disk_cache import DiskCache, key_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MATRICES = DiskCache("matrices", files=16)


def kept_matrix(make: Callable[..., csr_array], *settings: object) -> csr_array:
    """``make(*settings)``, from disk where an earlier run made it.

    ``make`` must depend on its settings and on its own module alone: a change of either makes the
    matrix anew. Settings need a repr that tells them apart.
    """
    from scipy.sparse import csr_array, load_npz, save_npz

    module = inspect.getmodule(make)
    assert module is not None, f"{make} has no module"
    key = key_of(inspect.getsource(module), make.__name__, repr(settings))
    stored = MATRICES.read(key)
    if stored is not None:
        return csr_array(load_npz(io.BytesIO(stored)))
    matrix = make(*settings)
    written = io.BytesIO()
    save_npz(written, matrix, compressed=False)
    MATRICES.write(key, written.getvalue())
    return matrix
