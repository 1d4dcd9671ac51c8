"""Report files of Nsight Compute (``.ncu-rep``).

NVIDIA documents the container (Nsight Compute, Customization Guide, "Report File Format", version
7): ``NVR`` and a zero byte, then blocks of protocol buffer messages, each with its length before
it. The messages are defined in the profiler's folder ``extras/FileFormat``; here are only the
fields that are read. The format may change without notice, so what does not fit is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

MAGIC = b"NVR\0"
_LENGTH = struct.Struct("<I")
_PACKAGE = "placewise_ncu"


class _Field(NamedTuple):
    """A field of a message: number, type (a scalar's name, or a message here), whether repeated."""

    number: int
    type: str
    repeated: bool = False


_MESSAGES = {
    "FileHeader": {"Version": _Field(1, "uint32")},
    "StringTable": {"Strings": _Field(1, "string", repeated=True)},
    "BlockHeader": {
        "NumSources": _Field(1, "uint32"),
        "NumResults": _Field(2, "uint32"),
        "StringTable": _Field(4, "StringTable"),
        "PayloadSize": _Field(5, "uint32"),
    },
    "MetricValue": {
        "FloatValue": _Field(2, "float"),
        "DoubleValue": _Field(3, "double"),
        "Uint32Value": _Field(4, "uint32"),
        "Uint64Value": _Field(5, "uint64"),
    },
    "MetricResult": {"NameId": _Field(1, "uint32"), "MetricValue": _Field(2, "MetricValue")},
    "Result": {
        "KernelFunctionName": _Field(6, "string"),
        "KernelDemangledName": _Field(7, "string"),
        "MetricResults": _Field(13, "MetricResult", repeated=True),
    },
}
"""Names are those of the profiler's definitions but for the first words of some messages."""
_NUMBERS = ("DoubleValue", "Uint64Value", "Uint32Value", "FloatValue")


@dataclass(frozen=True)
class ReportedLaunch:
    """One launch of a report."""

    kernel: str
    """Demangled name of the kernel."""
    metrics: tuple[tuple[str, float], ...]
    """(name, value) of those that are finite numbers, in the profiler's base units: bytes,
    nanoseconds."""


def read_report(data: bytes) -> tuple[ReportedLaunch, ...]:
    """All launches of a report. Raises ValueError where ``data`` is none, or of another format."""
    from google.protobuf.message import DecodeError

    if data[:4] != MAGIC:
        raise ValueError("no report of Nsight Compute: it does not start with NVR")
    messages = _messages()
    at = 4
    header, at = _next(data, at)
    try:
        messages["FileHeader"].FromString(header)
    except DecodeError as error:
        raise ValueError(f"its header is not what is documented: {error}") from error
    names: list[str] = []
    results: list[bytes] = []
    while at < len(data):
        text, at = _next(data, at)
        try:
            block = messages["BlockHeader"].FromString(text)
        except DecodeError as error:
            raise ValueError(f"a block is not what is documented: {error}") from error
        names.extend(block.StringTable.Strings)
        payload = data[at : at + block.PayloadSize]
        if len(payload) < block.PayloadSize:
            raise ValueError("the file is cut short")
        at += block.PayloadSize
        entries = _entries(payload, block.NumSources + block.NumResults)
        results.extend(list(entries)[block.NumSources :])
    try:
        return tuple(_launch(messages["Result"].FromString(r), names) for r in results)
    except DecodeError as error:
        raise ValueError(f"a result is not what is documented: {error}") from error


def _launch(result: Any, names: list[str]) -> ReportedLaunch:
    found = []
    for metric in result.MetricResults:
        value = metric.MetricValue
        field = next((f for f in _NUMBERS if value.HasField(f)), None)
        if field is not None and metric.NameId < len(names):
            number = float(getattr(value, field))
            if math.isfinite(number):
                found.append((names[metric.NameId], number))
    return ReportedLaunch(result.KernelFunctionName or result.KernelDemangledName, tuple(found))


def _next(data: bytes, at: int) -> tuple[bytes, int]:
    """The message whose length stands at ``at``, and where the next one's does."""
    if at + _LENGTH.size > len(data):
        raise ValueError("the file is cut short")
    (size,) = _LENGTH.unpack_from(data, at)
    start = at + _LENGTH.size
    if start + size > len(data):
        raise ValueError("the file is cut short")
    return data[start : start + size], start + size


def _entries(payload: bytes, count: int) -> Iterator[bytes]:
    at = 0
    for _ in range(count):
        entry, at = _next(payload, at)
        yield entry


def _messages() -> dict[str, Any]:
    """The classes of all messages, by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    scalar = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, field in fields.items():
            label = scalar.LABEL_REPEATED if field.repeated else scalar.LABEL_OPTIONAL
            added = message.field.add(name=field_name, number=field.number, label=label)
            if field.type in _MESSAGES:
                added.type = scalar.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{field.type}"
            else:
                added.type = getattr(scalar, f"TYPE_{field.type.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }
