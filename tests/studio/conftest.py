"""A studio that really listens, and requests to it."""

import http.client
import json
import socket
import threading

import pytest

TOKEN = "a-token-of-the-tests"


class Studio:
    """A served studio; ``ask`` sends one request with its token unless told otherwise."""

    def __init__(self, port):
        self.port = port
        self.host = f"127.0.0.1:{port}"
        self.address = f"http://{self.host}/?token={TOKEN}"

    def ask(self, path, data=None, *, method=None, token=TOKEN, host=None, **headers):
        """(status, body, headers) of an answer; ``data`` is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        body = None if data is None else data if isinstance(data, bytes) else json.dumps(data)
        sent = {"Host": host or self.host, "X-Placewise-Token": token, **headers}
        connection.request(method or ("GET" if body is None else "POST"), path, body, sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, dict(answer.getheaders())

    def events(self, run):
        """All events of a run, to its end."""
        _, text, _ = self.ask(f"/api/runs/{run}/events")
        lines = (line for line in text.splitlines() if line.startswith("data: "))
        return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.fixture(scope="session")
def serve():
    """Makes studios with other bounds: ``serve(seconds=5)``."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    from placewise.studio.app import make_app

    servers = []

    def make(**bounds):
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        studio = Studio(listening.getsockname()[1])
        app = make_app(token=TOKEN, hosts=frozenset({studio.host}), **bounds)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return studio

    yield make
    for server, thread in servers:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def studio(serve):
    """A studio with its usual bounds."""
    return serve()
