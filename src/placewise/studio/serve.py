"""Serves the studio on the loopback address until it is interrupted."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from placewise.errors import PlacewiseError

LOOPBACK = "127.0.0.1"


def serve_studio(*, port: int, most: int, seconds: float, announce: Callable[[str], None]) -> None:
    """Serve until interrupted. ``port`` 0 takes a free port. ``announce`` is called with the
    address, which contains the token. Raises PlacewiseError where the port is in use, or packages
    of the extra ``studio`` are not installed."""
    try:
        import uvicorn

        from placewise.studio.app import make_app
    except ImportError as error:
        raise PlacewiseError(
            f"the studio needs packages that are not installed: {error.name}",
            hint="pip install 'placewise[studio]'",
        ) from None
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
        except OSError as error:
            raise PlacewiseError(
                f"port {port} cannot be used: {error.strerror}",
                where="--port",
                hint="leave it out to take a free one",
            ) from None
        # Listen before the address is printed: a browser that opens it at once waits until it is
        # served.
        listening.listen()
        taken = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        hosts = frozenset({f"{LOOPBACK}:{taken}", f"localhost:{taken}"})
        app = make_app(token=token, hosts=hosts, most=most, seconds=seconds)
        settings = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on")
        announce(f"http://{LOOPBACK}:{taken}/?token={token}")
        uvicorn.Server(settings).run(sockets=[listening])
