"""A report is one file that runs nothing but its own script, whatever text it shows."""

import json
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from placewise.report.html.notebook import framed
from placewise.report.html.page import Page, embedded, page_text

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--"


class Parsed(HTMLParser):
    """Elements with their attributes, and the text inside scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.text = [], [], ""
        self.open_script = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open_script = tag == "script"
        if self.open_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.open_script = False

    def handle_data(self, data):
        if self.open_script:
            self.scripts[-1] += data
        else:
            self.text += data


def hostile_page():
    return Page(
        kind="run",
        title=HOSTILE,
        verdict=HOSTILE,
        document={"name": HOSTILE, "notes": [HOSTILE]},
        forms=[{"source": f"// {HOSTILE}", "title": HOSTILE}],
    )


@given(st.dictionaries(st.text() | st.sampled_from([HOSTILE, "</script", "\u2028"]), st.text()))
def test_embedded_json_cannot_end_its_element_and_means_the_same(data):
    text = embedded(data)
    assert not set(text) & {"<", ">", "&"}
    assert json.loads(text) == data


def test_hostile_text_adds_no_element_and_no_script():
    page = hostile_page()
    parsed, plain = Parsed(page_text(page)), Parsed(page_text(Page("run", "", "", {})))
    assert [tag for tag, _ in parsed.elements] == [tag for tag, _ in plain.elements]
    assert len(parsed.scripts) == 2
    assert json.loads(parsed.scripts[0])["forms"][0]["source"] == f"// {HOSTILE}"
    assert parsed.scripts[1] == plain.scripts[1]


def test_a_page_asks_nothing_of_the_network_and_allows_one_script():
    parsed = Parsed(page_text(hostile_page()))
    for tag, attributes in parsed.elements:
        assert not {"src", "href", "srcset", "action"} & attributes.keys(), tag
        assert not any(name.startswith("on") for name in attributes)
    policy = next(a["content"] for t, a in parsed.elements if "content" in a and "http-equiv" in a)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert "connect-src" not in rules


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    page = hostile_page()
    parsed = Parsed(framed(page))
    assert [tag for tag, _ in parsed.elements] == ["iframe"]
    attributes = parsed.elements[0][1]
    assert attributes["srcdoc"] == page_text(page)
    assert "allow-same-origin" not in attributes["sandbox"]
