"""Protects the studio: it answers only pages that it served itself, with its token, on this
computer."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 4 << 20
"""Most bytes of a request."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests for another host name (DNS rebinding), from another origin, without the
    token, or with a body that is too large. Adds security headers to all answers.

    Paths under ``open_path`` hold no data of the user and are served without the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: frozenset[str], open_path: str) -> None:
        self.app = app
        self.token = token
        self.hosts = hosts
        self.open_path = open_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        refused = self._refusal(scope, headers)
        if refused is not None:
            status, message = refused
            await JSONResponse({"message": message}, status)(scope, receive, _with_headers(send))
            return
        await self.app(scope, _bounded(receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host") not in self.hosts:
            return 421, "this is the studio of another address"
        origin = headers.get("origin")
        if origin is not None and origin.removeprefix("http://") != headers["host"]:
            return 403, "the studio answers only its own pages"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "the studio answers only its own pages"
        size = headers.get("content-length", "0")
        if not size.isdigit() or int(size) > MOST_BODY:
            return 413, f"a request may have at most {MOST_BODY >> 20} MB"
        if scope["path"].startswith(self.open_path):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = headers.get("x-placewise-token") or query.get("token", [""])[0]
        if not hmac.compare_digest(given.encode("latin-1", "replace"), self.token.encode()):
            return (
                401,
                "the token is missing or wrong: open the address that `placewise studio` printed",
            )
        return None


def _bounded(receive: Receive) -> Receive:
    """``receive`` limited to :data:`MOST_BODY` bytes, for bodies without a declared length."""
    left = MOST_BODY

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            return {"type": "http.disconnect"}
        return message

    return bounded


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *own]}
        await send(message)

    return sending
