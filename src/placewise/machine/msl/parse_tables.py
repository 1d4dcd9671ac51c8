"""Where the parse tables of grammars are kept from one process to the next."""

from __future__ import annotations

from platformdirs import user_cache_path


def kept_tables(name: str) -> str | bool:
    """Lark's ``cache`` argument: a file for a grammar's tables, False where none can be kept.

    Making the tables takes ten times as long as parsing a machine file. Lark makes them anew when
    the grammar changes.
    """
    folder = user_cache_path("placewise")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return str(folder / name)
