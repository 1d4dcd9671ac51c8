"""A case file's text to its model, or an error that names the key."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from placewise.errors import CaseError, reading
from placewise.kernel.cases import array_sources as arrays
from placewise.kernel.cases import case_model as casemodel
from placewise.kernel.cases.case_model import CaseModel, SourceModel
from placewise.kernel.cases.strict_model import Strict
from placewise.kernel.cases.tuning.tuning_file import tuning_document
from placewise.machine.msl.located import nearest

Model = TypeVar("Model", bound=SourceModel)


def read_model(path: Path) -> CaseModel:
    """Model of the TOML file ``path``, or of a tuning problem in the T1 format (``.json``).

    Raises CaseError located at the file and the key.
    """
    return validated(read_document(path), path)


def read_document(path: Path) -> dict[str, Any]:
    """The tables of a file, as :func:`validated` takes them; raises CaseError where it cannot be
    read."""
    arrays.require_file(path)
    if path.suffix == ".json":
        return tuning_document(path)
    with reading("TOML file", path, CaseError):
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))


def validated(document: dict[str, Any], path: Path) -> CaseModel:
    """Model of a parsed document; raises CaseError located at ``path`` and the key."""
    if "launches" in document:
        raise CaseError(
            "the file has several launches, and one is asked for",
            where=f"{path}: launches",
            hint="`placewise advise` and `placewise.advise_program` take all of them; write the "
            "kernel's own case for anything else",
        )
    return validated_as(CaseModel, document, path)


def validated_as(model: type[Model], document: dict[str, Any], path: Path) -> Model:
    """A parsed document as ``model``; raises CaseError located at ``path`` and the key."""
    version = document.get("schema")
    if version != casemodel.SCHEMA:
        found = "is missing" if version is None else f"is {version!r}"
        raise CaseError(
            f"the schema version {found}",
            where=f"{path}: schema",
            hint=f"this program reads schema = {casemodel.SCHEMA}",
        )
    try:
        return model.model_validate(document)
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_context=False)
        # A misspelt key is why the right one is missing.
        first = next((e for e in mistakes if e["type"] == "extra_forbidden"), mistakes[0])
        key = _key(first["loc"], document)
        # Where a value may be of several types, there is an error for each type that was tried.
        more = len({_key(e["loc"], document) for e in mistakes}) - 1
        message = _message(first) + (f" (and {more} more)" if more else "")
        where = f"{path}: {key}" if key else str(path)
        raise CaseError(message, where=where, hint=_meant(first)) from None


_TYPES = ("constrained", "literal[", "list[", "dict[")


def _key(location: tuple[int | str, ...], document: dict[str, Any]) -> str:
    """Dotted key of a pydantic location; an argument is called by its name where it has one."""
    parts = list(location)
    if (
        len(parts) > 1
        and parts[0] in ("arguments", "constants", "buffers")
        and isinstance(parts[1], int)
    ):
        entry = document[parts[0]][parts[1]]
        named = entry.get("name") if isinstance(entry, dict) else None
        parts[1] = named if isinstance(named, str) and named else parts[1] + 1
        del parts[2:3]  # The tag that says which kind of argument this is.
    elif len(parts) > 1 and parts[0] in ("matrices", "datasets"):
        del parts[2:3]
    elif len(parts) > 1 and parts[0] == "launches" and isinstance(parts[1], int):
        parts[1] += 1
    # Where a value may be of several types, pydantic appends the type that it tried.
    tried = {"int", "str", "float", "bool", "SharedValue"}
    return ".".join(str(p) for p in parts if p not in tried and not str(p).startswith(_TYPES))


def _meant(error: Any) -> str | None:
    """What a misspelt key is probably meant to be."""
    known = _known_keys()
    if error["type"] == "literal_error" and isinstance(error["input"], str):
        return _type_meant(error)
    if error["type"] == "extra_forbidden":
        unknown = [str(error["loc"][-1])]
    elif error["type"] == "source" and isinstance(error["input"], dict):
        known = frozenset(casemodel.SOURCES)
        unknown = [key for key in error["input"] if key not in _known_keys()]
    else:
        return None
    for key in unknown:
        hint = nearest(key, sorted(known - {key}))
        if hint is not None and hint.startswith("did you mean"):
            return f"{hint.removesuffix('?')} instead of '{key}'?"
    return None


_C_TYPES = {
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "unsigned": "uint32",
    "half": "float16", "float": "float32", "double": "float64",
}  # fmt: skip
"""What types are called in the sources that cases are made for."""


def _type_meant(error: Any) -> str | None:
    """What a word that is none of the possible ones is probably meant to be."""
    given, words = error["input"], re.findall(r"'([^']*)'", error["msg"])
    if _C_TYPES.get(given) in words:
        return f"did you mean '{_C_TYPES[given]}'?"
    hint = nearest(given, words)
    return hint if hint is not None and hint.startswith("did you mean") else None


@functools.cache
def _known_keys() -> frozenset[str]:
    """Every key that a case file may have somewhere."""
    found: set[str] = set()
    models = [Strict]
    while models:
        model = models.pop()
        found |= {field.alias or name for name, field in model.model_fields.items()}
        models += model.__subclasses__()
    return frozenset(found)


_NUMBERS = (("bool",), ("int",), ("float",))
"""How pydantic ends the location of a number of several types, of which it names the first."""


def _message(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key"
    if error["type"] == "missing":
        return "is missing"
    if error["loc"][-1:] in _NUMBERS:
        return f"input should be a number, not {error['input']!r}"
    text: str = error["msg"].removeprefix("Value error, ")
    text = text[0].lower() + text[1:]
    given = error["input"]
    return f"{text}, not {given!r}" if isinstance(given, str | int | float) else text
