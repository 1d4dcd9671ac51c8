"""The studio answers its own pages with its token, and nobody else."""

import pytest

from placewise.report.html.page import SCRIPT, STYLE, web_file
from placewise.studio.guard import MOST_BODY

PATHS = ["/", "/api/start", "/api/example/spmv"]


@pytest.mark.parametrize("path", PATHS)
def test_a_page_with_the_token_is_served(studio, path):
    status, _, headers = studio.ask(path)
    assert status == 200
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe-inline" not in headers["content-security-policy"].split("style-src")[0]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"token": ""}, 401),
        ({"token": "another"}, 401),
        ({"host": "evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_all_others_are_refused(studio, path, asked, status):
    answered, text, _ = studio.ask(path, **asked)
    assert answered == status
    assert "spmv" not in text


def test_the_token_may_be_in_the_address(studio):
    assert studio.ask("/?token=a-token-of-the-tests", token="")[0] == 200
    assert studio.ask("/?token=another", token="")[0] == 401


def test_requests_from_its_own_origin_are_served(studio):
    own = {"Origin": f"http://{studio.host}", "Sec-Fetch-Site": "same-origin"}
    assert studio.ask("/api/start", **own)[0] == 200


def test_a_request_that_is_too_large_is_refused(studio):
    status, text, _ = studio.ask("/api/machine", b"x" * (MOST_BODY + 1))
    assert status == 413
    assert "4 MB" in text


def test_script_and_style_are_those_of_the_package(studio):
    for name in (SCRIPT, STYLE):
        assert studio.ask(f"/assets/{name}", token="")[:2] == (200, web_file(name))


def test_what_is_not_there_and_what_is_no_request_are_told(studio):
    assert studio.ask("/api/example/no-such")[0] == 404
    assert studio.ask("/api/runs/no-such/events")[0] == 404
    assert studio.ask("/api/draft", b"not json")[0] == 400
    assert studio.ask("/api/draft", {"other": 1})[0] == 400
    assert studio.ask("/api/compare", {"one": {"name": 1}, "other": {}})[0] == 400
