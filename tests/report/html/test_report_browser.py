"""Reports in a real browser: what they show, at every width and in both themes."""

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from placewise.cli.main import app

pytestmark = [pytest.mark.slow, pytest.mark.browser]
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
COMMANDS = {
    "advise": "advise transpose.toml -m A100 --finalists 2",
    "layout": "layout particles.toml -m A100 --layout soa",
    "program": "advise blur.toml -m RTX3060 --finalists 1",
    "program-layout": "layout bodies.toml -m A100 --layout soa",
    "time": "time transpose.toml -m A100,H100 --measured A100=1ms",
    "counters": "counters transpose.toml -m A100 --place out=shared",
    "lint": "lint transpose.toml -m A100",
    "run": "run hostile.toml --check",
    "validate": "validate times.csv --case blocks.toml -m A100",
    "probe": "probe --simulate T1000 --only constant --only banks -q --curves curves.svg",
}
HOSTILE = """schema = 1
name = "race"
kernel = "race"
code = '''
__global__ void race(int *a) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x; // </script><script>document.title = "hacked"</script>
    a[threadIdx.x] = s[63 - threadIdx.x];
}
'''
launch = { grid = [1], block = [64] }
arguments = [{ name = "a", dtype = "int32", shape = [64], fill = 0 }]
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports") / "work"
    shutil.copytree(EXAMPLES, folder)
    (folder / "hostile.toml").write_text(HOSTILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, command in COMMANDS.items():
            done = CliRunner().invoke(app, [*command.split(), "--html", f"{name}.html"])
            assert done.exit_code in (0, 1), done.output
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_report_is_clean_and_fits(reports, open_page, name, width, scheme):
    opened = open_page(width=width, scheme=scheme)
    opened.page.goto((reports / f"{name}.html").as_uri())
    opened.page.locator(".verdict").wait_for()
    assert opened.serious() == []
    assert opened.overflow() == 0


def test_a_programs_launches_and_forms_are_shown(reports, open_page):
    page = open_page().page
    page.goto((reports / "program.html").as_uri())
    launches = page.locator("#launches tbody tr")
    assert [row.split()[1] for row in launches.all_inner_texts()] == ["(rows)", "(columns)"]
    assert "recommended" in page.locator("#forms tbody tr").first.inner_text()
    assert page.locator("#memory svg").count() == 2
    assert "__constant__" in page.locator("#diff").inner_text()


def test_text_of_a_kernel_runs_nothing(reports, open_page):
    page = open_page().page
    page.goto((reports / "run.html").as_uri())
    page.locator(".finding").first.wait_for()
    assert page.title() != "hacked"
    assert 'document.title = "hacked"' in page.locator(".finding").first.inner_text()
    assert page.locator("img").count() == 0


def test_an_option_is_compared_with_the_present_form(reports, open_page):
    page = open_page().page
    page.goto((reports / "advise.html").as_uri())
    rows = page.get_by_role("radio")
    assert rows.first.is_checked()
    rows.nth(1).focus()
    page.keyboard.press("Space")
    chosen = rows.nth(1).get_attribute("aria-label").removeprefix("Show ")
    assert chosen in page.locator("#limits").inner_text()
    assert page.locator("#memory svg").count() == 2


def test_a_line_is_marked_in_source_and_machine_code(reports, open_page):
    page = open_page().page
    page.goto((reports / "lint.html").as_uri())
    page.locator("#source").scroll_into_view_if_needed()
    page.get_by_label("Source of transpose.cu").get_by_text("out[x * n + y]").click()
    listing = page.get_by_label("Machine code of as it is")
    assert listing.locator(".linked").get_by_text("STG").count() == 1
    assert "32 sectors" in page.locator("#accesses figcaption").inner_text()


def test_warps_and_what_they_wait_for_are_shown(reports, open_page):
    page = open_page().page
    page.goto((reports / "lint.html").as_uri())
    picture = page.locator("#warps canvas")
    assert "warps of one SM" in picture.get_attribute("aria-label")
    picture.hover(position={"x": 40, "y": 100})
    assert re.search(r"cycle .*, warp \d+: ", page.locator("#warps .axis").inner_text())
    rows = page.locator("#warps tbody tr")
    assert "out[x * n + y]" in rows.first.inner_text()
    # The line leads to the source, where its waits can stand beside it and beside the machine code.
    rows.first.get_by_role("link").click()
    page.get_by_label("Beside each line").select_option("stalls")
    assert "waits for" in page.locator("#source .pane-foot").inner_text()
    assert page.get_by_label("Machine code of as it is").locator("..").locator(".cm-heat").count()


def test_caches_of_other_sizes_are_drawn(reports, open_page):
    page = open_page().page
    page.goto((reports / "lint.html").as_uri())
    labels = [p.get_attribute("aria-label") for p in page.locator("#caches .plot").all()]
    assert [words.split(":")[0] for words in labels] == ["L1", "L2"]
    assert page.locator("#caches canvas").count() == 2


def test_the_theme_can_be_chosen(reports, open_page):
    page = open_page(scheme="light").page
    page.goto((reports / "lint.html").as_uri())
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_label("Theme").select_option("dark")
    dark = page.evaluate(paper)
    assert light == "rgb(255, 255, 255)"
    assert dark != light


def test_a_report_asks_nothing_of_the_network(reports, open_page):
    page = open_page().page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((reports / "advise.html").as_uri())
    page.locator("#diff").wait_for()
    assert [url for url in asked if not url.startswith("file:")] == []
