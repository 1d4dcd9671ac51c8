"""Random damage to valid bytes, text and documents; the same ``Random`` gives the same damage."""

from __future__ import annotations

import copy
import json
import re
from random import Random
from typing import Any

NUMBERS = (
    "0", "-1", "1", "3", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807",
    "-9223372036854775808", "18446744073709551616", "9" * 30, "9" * 5000, "1e308", "-1e308",
    "1e999", "1e-320", "0.1", "nan", "inf", "-inf", "007", "0x7fffffff", "1_000", "1,5", "１２",
)  # fmt: skip
WORDS = (
    "", " ", "a", "n", "x", "é", "𝔘𝔫𝔦", "\u202e", "\x07", "\x1b[31m", "[bold]", "[/x]", "%s%n",
    "{0}", "../../etc/passwd", "~nouser/x", "~", "a" * 300, "a" * 70_000, "/dev/zero",
    "/dev/null/x", "/proc/self/mem", ".", "..", "/", "None", "true", "*", "\\", "'", '"', "\n",
    "a.b", "n n", "<>", "n + ", "n // 0", "(" * 150, "-" * 190 + "1", "n * n * n * n * n * n",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, 65536, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**63, 10**30,
    1e308,
    -1e308, 1e-320, float("nan"), float("inf"), [], {}, [[]], [None], [1, 2, 3, 4], {"a": 1},
    *WORDS,
)  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r'"[^"\n]*"')


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """One to four of: flipped bits, a cut, a part doubled, dropped or overwritten."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not made:
            return rng.randbytes(rng.randint(0, 64))
        at = rng.randrange(len(made))
        size = rng.choice((1, 2, 4, 8, 64, len(made)))
        match rng.randrange(5):
            case 0:
                made[at] ^= 1 << rng.randrange(8)
            case 1:
                del made[at:]
            case 2:
                made[at:at] = made[at : at + size]
            case 3:
                del made[at : at + size]
            case _:
                filler = rng.choice((b"\0", b"\xff", b"\x80", b"9", b"\n"))
                made[at : at + size] = filler * min(size, 4096)
    return bytes(made)


def mutate_text(rng: Random, text: str) -> str:
    """One to three of: lines doubled, dropped or exchanged; numbers, words or strings replaced."""
    for _ in range(rng.randint(1, 3)):
        text = _mutate_once(rng, text)
    return text


def _mutate_once(rng: Random, text: str) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(9):
        case 0:
            lines[at:at] = [lines[at]] * rng.choice((1, 2, 1000))
        case 1:
            del lines[at : at + rng.choice((1, 1, 3))]
        case 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 3 | 4:
            return _replace_one(rng, _NUMBER, text, rng.choice(NUMBERS))
        case 5:
            return _replace_one(rng, _WORD, text, rng.choice(WORDS))
        case 6:
            words = _WORD.findall(text) or ["x"]
            return _replace_one(rng, _WORD, text, rng.choice(words))
        case 7:
            quoted = json.dumps(rng.choice(WORDS), ensure_ascii=rng.random() < 0.5)
            return _replace_one(rng, _QUOTED, text, quoted)
        case _:
            place = rng.randrange(len(text) + 1)
            return text[:place] + rng.choice((*WORDS, *NUMBERS, ";", "{", "}")) + text[place:]
    return "\n".join(lines)


def _replace_one(rng: Random, pattern: re.Pattern[str], text: str, new: str) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text + new
    start, end = rng.choice(found).span()
    return text[:start] + new + text[end:]


def mutate_document(rng: Random, document: Any) -> Any:
    """A copy in which one to three values are replaced, dropped, moved, renamed or nested deep."""
    made = {"": copy.deepcopy(document)}
    for _ in range(rng.choice((1, 1, 2, 3))):
        holder, key = rng.choice(_places(made))
        value = holder[key]
        match rng.randrange(8):
            case 0 | 1 | 2:
                holder[key] = copy.deepcopy(rng.choice(VALUES))
            case 3 if isinstance(value, int | float | str):
                holder[key] = _other_type(rng, value)
            case 4 if key != "":
                del holder[key]
            case 5 if isinstance(holder, dict) and key != "":
                holder[rng.choice(WORDS)] = holder.pop(key)
            case 6:
                nested: Any = value
                for _ in range(rng.choice((1, 20, 90))):
                    nested = [nested] if rng.random() < 0.5 else {"a": nested}
                holder[key] = nested
            case _:
                holder[key] = copy.deepcopy(rng.choice([h[k] for h, k in _places(made)]))
    return made.get("")


def _other_type(rng: Random, value: float | str) -> Any:
    if isinstance(value, str):
        return rng.choice((value + "0", value[:-1], value.upper(), [value], value * 40, len(value)))
    return rng.choice((str(value), float(value), -value, value * 1000, value * 2**32, [value]))


def _places(root: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value in a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in list(keys):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


def encoded(rng: Random, text: str) -> bytes:
    """``text`` in UTF-8, seldom in another encoding, with a byte order mark or other line ends."""
    text = text.encode("utf-8", "replace").decode()
    match rng.randrange(30):
        case 0:
            return text.encode("utf-16")
        case 1:
            return text.encode("latin-1", "replace")
        case 2:
            return text.encode("utf-8-sig")
        case 3:
            return text.replace("\n", "\r\n").encode()
        case 4:
            return text.replace("\n", "\r").encode()
        case 5:
            return text.encode() + b"\xff\xfe\x80"
        case _:
            return text.encode()
