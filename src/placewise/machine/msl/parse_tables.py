"""Where the parse tables of grammars are kept from one process to the next."""

from __future__ import annotations

from platformdirs import user_cache_path


def kept_tables(name: str) -> str | bool:
    """What Lark takes as its ``cache``: the file that keeps a grammar's tables, whose making takes
    ten times as long as a machine file's parsing; it makes them anew when the grammar changes.
    False where no file can be kept."""
    folder = user_cache_path("placewise")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return str(folder / name)
