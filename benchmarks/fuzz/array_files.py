"""Hostile arrays, matrices and images beside a valid case file."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from random import Random

import numpy as np
from PIL import Image

from benchmarks.fuzz.case_files import case_command, rich_files
from benchmarks.fuzz.examples import MATRIX, RICH_CASE, SMALL_CASE, toml
from benchmarks.fuzz.hostile_input import HostileInput
from benchmarks.fuzz.mutate import encoded, mutate_bytes, mutate_text

_SHAPES = (
    "(300,)",
    "(301,)",
    "()",
    "(0,)",
    "(-1,)",
    "(-300,)",
    "(2, 150)",
    "(9223372036854775807,)",
    "(4294967296, 4294967296)",
    "(1,) * 9",
    "(True,)",
    "(1.5,)",
    "('n',)",
    "[300]",
    "300",
    "None",
    "(" * 300 + ")" * 300,
    f"({'1, ' * 70})",
    "(99999999999999999999999999,)",
    "(2000000000,)",
)
_TYPES = (
    "'<f4'",
    "'>f4'",
    "'<f8'",
    "'|O'",
    "'<M8[s]'",
    "'<U8'",
    "'|V4'",
    "'|S0'",
    "'<f3'",
    "''",
    "None",
    "[('a', '<f4')]",
    "[('a', '<f4'), ('a', '<f4')]",
    "[('a', '|O')]",
    "'<c16'",
    "'|b1'",
    "'<f2'",
    "[('" + "a" * 300 + "', '<f4')]",
    "{'names': ['a'], 'formats': ['f4'], 'offsets': [2000000000]}",
    "'f4,' * 99",
    "'<U2000000000'",
    "[('a', '<f4', (1000000, 1000000))]",
)


_NAMES = ("x.npy", "../x.npy", "/x", "é.npy", "a" * 300 + ".npy", "x")


def array_input(rng: Random) -> HostileInput:
    """A case whose array, matrix or image is hostile."""
    make = rng.choice((_npy, _npy, _npz, _matrix, _matrix, _image))
    return make(rng)


def _with_file(rng: Random, what: str, name: str, data: bytes, **more: str) -> HostileInput:
    """The small case with ``x`` from a file."""
    entry = {"name": "x", "dtype": "float32", "file": name, **more}
    case = {**SMALL_CASE, "arguments": [entry, *SMALL_CASE["arguments"][1:]]}
    files = {**rich_files(), name: data, "case.toml": toml(case).encode()}
    return HostileInput("array", what, case_command(rng), files)


def _plain() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(300, dtype=np.float32))
    return out.getvalue()


def _npy(rng: Random) -> HostileInput:
    if rng.random() < 0.4:
        return _with_file(rng, "npy bytes", "x.npy", mutate_bytes(rng, _plain()))
    descr, shape = rng.choice(_TYPES), rng.choice(_SHAPES)
    if rng.random() < 0.3:
        descr = "'<f4'"
    if rng.random() < 0.3:
        shape = "(300,)"
    order = rng.choice(("False", "False", "True", "1", "None"))
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    version = rng.choice((b"\x01\0", b"\x02\0", b"\x03\0", b"\x09\0"))
    length = struct.pack("<H" if version == b"\x01\0" else "<I", len(header) & 0xFFFF)
    if rng.random() < 0.1:
        length = struct.pack("<I", 0xFFFFFFFF)
    data = b"\x93NUMPY" + version + length + header + bytes(rng.choice((0, 4, 1200, 1204)))
    return _with_file(rng, f"npy of {descr[:30]} {shape[:30]}", "x.npy", data)


def _npz(rng: Random) -> HostileInput:
    what = rng.choice(("bytes", "member", "names", "bomb", "not arrays", "nested", "empty"))
    member = "x"
    members: list[tuple[str, bytes]] = []
    if what == "member":
        members = [("x.npy", mutate_bytes(rng, _plain()))]
    elif what == "names":
        members = [(name, _plain()) for name in _NAMES]
        member = rng.choice(("x", "../x", "é", "a" * 300, "", "x.npy", "\n"))
    elif what == "bomb":
        header = _plain()[:128].replace(b"(300,), ", b"(3000000000,), ")[:128]
        members = [("x.npy", header + bytes(200_000_000))]
    elif what == "not arrays":
        members = [("x.npy", rng.randbytes(200)), ("x", b"text")]
    elif what == "nested":
        members = [("x.npy", b"PK\3\4" + rng.randbytes(60))]
    elif what == "bytes":
        members = [("x.npy", _plain())]
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members:
            # The time of a name alone is always the same.
            file.writestr(zipfile.ZipInfo(name), content, packing)
    data = out.getvalue()
    if what == "bytes":
        data = mutate_bytes(rng, data)
    return _with_file(rng, f"npz: {what}", "x.npz", data, member=member)


def _matrix(rng: Random) -> HostileInput:
    kinds = ("general", "symmetric", "skew-symmetric", "hermitian", "odd")
    fields = ("real", "integer", "complex", "pattern", "double")
    sizes = (
        "4 4 5",
        "0 0 0",
        "-1 4 5",
        "4 4 99999999999",
        "3 3 5",
        "4 4",
        "4 4 5 6",
        "a b c",
        "2147483648 2147483648 1",
        "99999999999999999999 4 5",
        "4 9223372036854775807 5",
        "1000000000 1000000000 0",
    )
    match rng.randrange(6):
        case 0:
            text = mutate_text(rng, MATRIX)
        case 1:
            text = MATRIX.replace("symmetric", rng.choice(kinds)).replace(
                "real", rng.choice(fields)
            )
        case 2 | 3:
            text = MATRIX.replace("4 4 5", rng.choice(sizes))
        case 4:
            text = MATRIX.replace("coordinate", "array")
        case _:
            text = MATRIX.replace(
                "2 1 -1.0",
                rng.choice(
                    (
                        "0 0 1",
                        "5 5 1",
                        "2 1 nan",
                        "2 1 1e999",
                        "2",
                        "",
                        "2 1 1 1",
                        "-1 -1 1",
                        "2.5 1 1",
                        "99999999999999999999 1 1",
                    )
                ),
            )
    data, name = encoded(rng, text), "matrix.mtx"
    if rng.random() < 0.4:
        name = "matrix.mtx.gz"
        packed = gzip.compress(data, mtime=0)
        data = rng.choice(
            (
                packed,
                mutate_bytes(rng, packed),
                packed * 3,
                packed + b"\0" * 100,
                data,
                gzip.compress(MATRIX.encode() + b"\n" * 300_000_000, 1, mtime=0)
                if rng.random() < 0.3
                else packed[:-4],
            )
        )
    case = {**RICH_CASE, "matrices": {"A": {"file": name}}}
    case["launch"] = {"problem": ["A.rows"], "block": [32]}
    files = {**rich_files(), name: data, "case.toml": toml(case).encode()}
    return HostileInput("array", "matrix", case_command(rng), files)


def _image(rng: Random) -> HostileInput:
    out = io.BytesIO()
    mode = rng.choice(("L", "RGB", "RGBA", "1", "P", "I;16", "F", "CMYK"))
    form = rng.choice(("PNG", "TIFF", "GIF", "BMP", "JPEG", "WEBP"))
    size = rng.choice(((4, 3), (1, 1), (300, 1), (2000, 2000)))
    try:
        Image.new(mode, size, 0).save(out, form)
        data = out.getvalue()
    except (OSError, KeyError, ValueError):
        data = rich_files()["photo.png"]
    what = f"image of {mode} as {form}"
    match rng.randrange(5):
        case 0 | 1 | 2:
            data = mutate_bytes(rng, data)
        case 3:
            width, height = rng.choice(((60_000, 60_000), (2**31 - 1, 1), (0, 0), (1, 2**31 - 1)))
            png = bytearray(rich_files()["photo.png"])
            png[16:24] = struct.pack(">II", width, height)
            import zlib

            png[29:33] = struct.pack(">I", zlib.crc32(bytes(png[12:29])))
            data, what = bytes(png), f"image of {width} x {height}"
    files = {**rich_files(), "photo.png": data, "case.toml": toml(RICH_CASE).encode()}
    return HostileInput("array", what, case_command(rng), files)
