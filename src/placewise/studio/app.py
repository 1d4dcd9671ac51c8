"""The studio's web application: its page, runs with their progress, machines, examples."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from placewise.cases.library import bundled_cases, case_names, load_case
from placewise.errors import PlacewiseError
from placewise.machine import load_machine, machine_names
from placewise.report.html.page import SCRIPT, STYLE, Page, page_text, web_file
from placewise.report.machine import difference_document
from placewise.studio.draft import draft
from placewise.studio.guard import Guard
from placewise.studio.machine_text import machine_view, with_figure
from placewise.studio.mt4g_text import mt4g_text
from placewise.studio.requests import AskedMachine, asked_run, machine_of
from placewise.studio.runs import Run, Runs

ASSETS = "/assets/"
_TEMPLATES = Jinja2Templates(Path(__file__).parent / "templates")


def make_app(
    *, token: str, hosts: frozenset[str], most: int = 2, seconds: float = 300.0
) -> Starlette:
    """The web application. ``hosts`` are the names with port by which it may be addressed. At most
    ``most`` runs take place at a time, each for at most ``seconds``."""
    runs = Runs(most=most, seconds=seconds)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        runs.close()

    app = Starlette(
        routes=[
            Route("/", _page),
            Route(ASSETS + SCRIPT, _script),
            Route(ASSETS + STYLE, _style),
            Route("/api/start", _start),
            Route("/api/example/{name}", _example),
            Route("/api/draft", _draft, methods=["POST"]),
            Route("/api/runs", _run, methods=["POST"]),
            Route("/api/runs/{name}/events", _events),
            Route("/api/runs/{name}/cancel", _cancel, methods=["POST"]),
            Route("/api/runs/{name}/report.html", _report),
            Route("/api/machine", _machine, methods=["POST"]),
            Route("/api/compare", _compare, methods=["POST"]),
            Route("/api/mt4g", _mt4g, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, token=token, hosts=hosts, open_path=ASSETS)],
        exception_handlers={PlacewiseError: _told, ValueError: _bad, KeyError: _missing},
        lifespan=lifespan,
    )
    app.state.runs = runs
    app.state.token = token
    return app


async def _told(_request: Request, error: Exception) -> Response:
    assert isinstance(error, PlacewiseError), "registered for it"
    found = {"message": error.message, "where": error.where, "hint": error.hint}
    return JSONResponse(found, 422)


async def _bad(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"message": "the request is not what the studio's page sends"}, 400)


async def _missing(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"message": "there is no such thing here"}, 404)


async def _page(request: Request) -> Response:
    found = {"token": request.app.state.token, "script": SCRIPT, "style": STYLE}
    return _TEMPLATES.TemplateResponse(request, "studio.html", found)


async def _script(_request: Request) -> Response:
    return Response(web_file(SCRIPT), media_type="text/javascript")


async def _style(_request: Request) -> Response:
    return Response(web_file(STYLE), media_type="text/css")


async def _start(request: Request) -> Response:
    machines = [load_machine(name) for name in machine_names()]
    return JSONResponse(
        {
            "version": version("placewise"),
            "machines": [{"name": m.name, "title": m.title} for m in machines],
            "examples": [
                {"name": c.name, "group": c.group, "description": c.description}
                for c in bundled_cases()
            ],
            "seconds": request.app.state.runs.seconds,
        }
    )


async def _example(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in case_names():
        raise KeyError(name)
    case = load_case(name)
    return JSONResponse({"name": name, "source": case.source, "description": case.description})


async def _draft(request: Request) -> Response:
    return JSONResponse(draft(_text(await request.json(), "source")))


def _text(data: Any, key: str) -> str:
    """The text under ``key`` of a request; raises ValueError where there is none."""
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, str):
        raise ValueError(key)
    return found


async def _run(request: Request) -> Response:
    body = await request.body()
    asked_run(body)
    runs: Runs = request.app.state.runs
    try:
        return JSONResponse({"run": await runs.start(body)})
    except BlockingIOError:
        message = f"{runs.most} runs are under way: cancel one, or wait"
        return JSONResponse({"message": message}, 429)


def _run_of(request: Request) -> Run:
    runs: Runs = request.app.state.runs
    return runs[request.path_params["name"]]


async def _events(request: Request) -> Response:
    run = _run_of(request)

    async def sent() -> AsyncIterator[str]:
        async for event in run.listen():
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(sent(), media_type="text/event-stream")


async def _cancel(request: Request) -> Response:
    _run_of(request).kill("cancelled")
    return JSONResponse({})


async def _report(request: Request) -> Response:
    page = _run_of(request).page
    if page is None:
        raise KeyError("page")
    keys = ("kind", "title", "verdict", "document", "forms", "changes", "curves")
    name = {"content-disposition": 'attachment; filename="placewise-report.html"'}
    return HTMLResponse(page_text(Page(**{key: page[key] for key in keys})), headers=name)


async def _machine(request: Request) -> Response:
    """Answer of the machine editor: a bundled machine to start from, a checked text, or a text with
    one figure set."""
    data = await request.json()
    if "name" in data:
        machine = load_machine(_known(_text(data, "name")))
        own = f'machine Mine like {machine.name} "{machine.title}, changed";\n'
        return JSONResponse(machine_view(own))
    text = _text(data, "text")
    if (edit := data.get("edit")) is not None:
        text = with_figure(text, _text(edit, "part"), _text(edit, "name"), _text(edit, "value"))
    return JSONResponse(machine_view(text))


def _known(name: str) -> str:
    if name not in machine_names():
        raise KeyError(name)
    return name


async def _compare(request: Request) -> Response:
    data = await request.json()
    one, other = (machine_of(AskedMachine.model_validate(data[key])) for key in ("one", "other"))
    return JSONResponse(difference_document(one, other))


async def _mt4g(request: Request) -> Response:
    return JSONResponse(machine_view(mt4g_text(await request.body())))
