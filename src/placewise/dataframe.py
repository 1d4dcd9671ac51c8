"""Tables as pandas data frames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from placewise.errors import UnsupportedError

if TYPE_CHECKING:
    from pandas import DataFrame


def dataframe(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """A data frame with a row for each mapping of column to value.

    Raises UnsupportedError where pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise UnsupportedError(
            "a data frame needs pandas, which is not installed",
            hint="pip install 'placewise[dataframe]'",
        ) from None
    return DataFrame.from_records([dict(row) for row in rows])
