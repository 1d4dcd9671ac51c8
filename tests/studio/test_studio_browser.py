"""The studio in a real browser: its main paths, and what goes wrong on them."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]
WAIT_MS = 120_000


def write(page, label, text):
    """Replace the text of an editor."""
    editor = page.get_by_label(label, exact=True)
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def ask(page, words):
    page.get_by_label("Ask").select_option(label=words)


def run(page):
    """Run, wait for the answer, and return its verdict, or the error in its place."""
    page.get_by_role("button", name="Run", exact=True).click()
    answer = page.locator(".verdict, [role=alert]")
    answer.first.wait_for(timeout=WAIT_MS)
    return answer.first.inner_text()


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_an_example_is_one_click_away(studio, open_page, width, scheme):
    opened = open_page(width=width, scheme=scheme)
    page = opened.page
    page.goto(studio.address)
    page.get_by_label("Start from").first.select_option("transpose")
    page.get_by_text("The example's own inputs").wait_for()
    ask(page, "Which lines waste bandwidth?")
    assert "32 sectors" in run(page)
    assert page.get_by_text("Download the report").get_attribute("href").startswith("/api/runs/")
    assert opened.serious() == []
    assert opened.overflow() == 0


def test_a_pasted_kernel_is_read_asked_about_and_mended(studio, open_page):
    page = open_page().page
    page.goto(studio.address)
    source = (
        "__global__ void twice(float *a, int n) {\n    int i = threadIdx.x;\n    a[i] = by * 2;\n}"
    )
    write(page, "Source of the kernel", source)
    page.get_by_role("button", name="Read the kernel").click()
    page.get_by_label("Shape of a").fill("1024")
    page.get_by_label("Elements of the problem").fill("1024")
    ask(page, "How long does it take?")
    assert '"by" is undefined' in run(page)
    page.locator(".cm-lintRange-error").first.wait_for()
    write(page, "Source of the kernel", source.replace("by", "a[i]"))
    assert "A100 takes" in run(page)


def test_an_endless_kernel_is_cancelled(studio, open_page):
    page = open_page().page
    page.goto(studio.address)
    source = "__global__ void spin(volatile float *a) { while (a[0] < 1) a[1] += 1; }"
    write(page, "Source of the kernel", source)
    page.get_by_role("button", name="Read the kernel").click()
    page.get_by_label("Contents of a").select_option("all equal to")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("progress").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("alert").get_by_text("cancelled").wait_for(timeout=WAIT_MS)
    assert page.get_by_role("button", name="Run", exact=True).is_enabled()


def test_form_and_text_of_a_machine_follow_each_other(studio, open_page):
    opened = open_page()
    page = opened.page
    page.goto(studio.address)
    page.get_by_role("button", name="Machines").click()
    clock = page.get_by_label("limits clock", exact=True)
    clock.fill("1000 MHz")
    clock.press("Enter")
    text = page.get_by_label("Machine file")
    text.get_by_text("clock = 1000 MHz").wait_for()
    write(page, "Machine file", 'machine Mine like H100 "Mine";\nlimits { clock = 1111 MHz; }\n')
    page.wait_for_function(
        "document.querySelector('[aria-label=\"limits clock\"]').value === '1111 MHz'"
    )
    write(page, "Machine file", 'machine Mine like H100 "Mine";\nlimits { clokc = 1 MHz; }\n')
    page.get_by_text("line 2, column 10").wait_for()
    page.locator(".cm-lintRange-error").first.wait_for()
    write(page, "Machine file", 'machine Mine like H100 "Mine";\n')
    page.get_by_role("button", name="What if L1 were twice as large?").click()
    text.get_by_text("change L1").wait_for()
    page.locator("#compare").get_by_label("with").select_option("H100")
    page.get_by_role("button", name="Show differences").click()
    rows = page.get_by_label("Differences, scrollable").locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == 1
    assert opened.serious() == []
    page.get_by_role("button", name="Kernel", exact=True).click()
    page.locator("#question").get_by_label("GPU").select_option(label="my machine (see Machines)")


def test_two_tabs_have_runs_of_their_own(studio, open_page):
    pages = [open_page().page, open_page().page]
    for page, example in zip(pages, ("transpose", "spmv"), strict=True):
        page.goto(studio.address)
        page.get_by_label("Start from").first.select_option(example)
        page.get_by_text("The example's own inputs").wait_for()
        ask(page, "Is it correct? (run and check)")
        page.get_by_role("button", name="Run", exact=True).click()
    for page in pages:
        answer = page.locator(".verdict, [role=alert]").first
        answer.wait_for(timeout=WAIT_MS)
        assert "Clean" in answer.inner_text()


def test_a_wrong_token_and_a_foreign_page_get_nothing(studio, chromium):
    context = chromium.new_context()
    page = context.new_page()
    answer = page.goto(studio.address + "x")
    assert answer.status == 401
    page.goto("data:text/html,<p>elsewhere</p>")
    told = page.evaluate(
        "address => fetch(address).then(a => a.text(), e => String(e))", studio.address
    )
    assert "Placewise studio" not in told
    context.close()
