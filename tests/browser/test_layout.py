"""The administration of a filled year, measured: no word is broken, no row of cards has a hole, and the menu folds."""

from urllib.parse import urljoin

import pytest
from filled_year import BROWSERS, MONTHS, PEOPLE, FilledYear

# A phone, two tablets, a laptop and a desk.
WIDTHS = (390, 768, 1024, 1280, 1920)
PAGES = ("/admin", "/admin/audit", "/admin/users", "/admin/invitations", "/admin/keys", "/admin/guards", "/admin/refusals")
# Without the refusals, a month has 18. Those within a second are one event, so a fast machine has fewer of them.
MIN_EVENTS = 200
# A longer word may be broken in a window that is narrower than a laptop's.
MAX_NARROW_WORD = 24
# Letters and digits whose first and last are on different lines. A condition or a key may be broken.
BROKEN = """() => {
  const broken = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("code, option") || !node.parentElement.checkVisibility()) continue;
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter(box => box.width > 0).map(box => Math.round(box.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# How many pixels each row of a list of cards lacks to the right edge of the list.
HOLES = """() => [...document.querySelectorAll("ul.figures")].flatMap(list => {
  const rows = new Map();
  for (const card of list.children) {
    const box = card.getBoundingClientRect();
    rows.set(Math.round(box.top), Math.max(rows.get(Math.round(box.top)) ?? 0, box.right));
  }
  return [...rows.values()].map(right => list.getBoundingClientRect().right - right);
})"""
# How many rows the visible links and buttons of the menu have.
MENU_ROWS = """() => new Set([...document.querySelectorAll("nav a, nav summary")]
  .filter(link => link.checkVisibility() && link.getBoundingClientRect().height > 0)
  .map(link => Math.round(link.getBoundingClientRect().top))).size"""


@pytest.fixture(scope="module")
def year(folder):
    year = FilledYear(folder / "year")
    yield year
    year.stop()


@pytest.fixture(params=["en-GB", "de-DE"])
def page(request, year, new_context):
    """A browser profile of the administrator, in each language. Measuring needs JavaScript, the pages do not."""
    context = new_context(java_script_enabled=True, locale=request.param)
    name, value = year.cookie.split("=", 1)
    context.add_cookies([{"name": name, "value": value, "url": year.url}])
    return context.new_page()


def at(page, width):
    page.set_viewport_size({"width": width, "height": 900})


@pytest.mark.parametrize("path", PAGES)
def test_no_word_is_broken_and_no_page_is_wider_than_its_window(page, year, path):
    page.goto(year.url + path)
    rows, pages = 0, 0
    while True:
        rows, pages = rows + page.locator("tbody tr").count(), pages + 1
        for width in WIDTHS:
            at(page, width)
            assert page.evaluate(OVERFLOW) <= 0, f"{path} is wider than {width} pixels"
            broken = [word for word in page.evaluate(BROKEN) if width >= 1280 or len(word) <= MAX_NARROW_WORD]
            assert broken == [], f"{path}, {width} pixels"
        next_page = page.locator("a[rel=next]")
        if path != "/admin/audit" or not next_page.count():
            break
        page.goto(urljoin(page.url, next_page.get_attribute("href")))
    if path == "/admin/audit":
        assert rows >= MIN_EVENTS and pages > 1, "a filled year"


def test_a_broken_word_and_a_hole_would_be_found(page):
    page.set_content(
        "<main style='width:4em;overflow-wrap:anywhere'>Donaudampfschifffahrt</main>"
        "<ul class=figures style='width:9em;padding:0'><li style='width:3em'></ul>"
    )
    assert page.evaluate(BROKEN) == ["Donaudampfschifffahrt"]
    assert page.evaluate(HOLES)[0] > 1


def test_the_trail_is_in_words_with_exact_times(page, year):
    page.goto(f"{year.url}/admin/audit")
    is_german = page.locator("html").get_attribute("lang") == "de"
    text = page.locator("table").inner_text()
    for raw in ("onlyReported", "{", "[\"", "_in", "sign in failed", "guard refused", "pwd", "kind:"):
        assert raw not in text, raw
    words = "Anmeldung fehlgeschlagen" if is_german else "Sign-in failed"
    assert words in text
    assert ("Falsches Passwort." if is_german else "Wrong password.") in text
    times = page.locator("tbody time").all_inner_texts()
    assert times and all("UTC" in time and "2026" in time for time in times)
    # What a guard has only reported is no failure.
    reported = page.locator("tr:has-text('quarterly-reports')").first
    assert reported.locator(".tag").inner_text() == ("Eingelassen: nur berichtet" if is_german else "Admitted: only reported")
    assert reported.locator(".tag.bad").count() == 0
    kinds = page.locator("select[name=kind] option").all_inner_texts()
    assert words in kinds and all("_" not in kind for kind in kinds)


def test_events_are_cards_on_a_phone_and_a_table_on_a_desk(page, year):
    page.goto(f"{year.url}/admin/audit")
    top = "cells => new Set(cells.map(cell => Math.round(cell.getBoundingClientRect().top))).size"
    cells = "tbody tr:first-child td:not(:empty)"
    at(page, 390)
    count = page.locator(cells).count()
    assert page.locator(cells).evaluate_all(top) == count, "one below the other"
    at(page, 1280)
    assert page.locator(cells).evaluate_all(top) == 1


def test_the_overview_has_no_hole_and_says_how_old_its_figures_are(page, year):
    page.goto(f"{year.url}/admin")
    for width in WIDTHS:
        at(page, width)
        holes = page.evaluate(HOLES)
        assert holes and max(holes) <= 1, f"{width} pixels: {holes}"
    counted = page.locator("main > .hint").first.inner_text()
    assert "UTC" in counted, counted
    # A chart without bars says so.
    for chart in page.locator(".charts li").all():
        assert chart.locator("svg").count() == 1 or len(chart.inner_text().splitlines()) > 2, chart.inner_text()


def test_the_menu_folds_in_a_narrow_window(page, year):
    page.goto(f"{year.url}/admin/users")
    for width in WIDTHS:
        at(page, width)
        if width < 1280:
            assert page.evaluate(MENU_ROWS) <= 2, f"{width} pixels"
    at(page, 390)
    page.locator("nav summary").click()
    link = page.locator("nav details a[href$='/admin/audit']")
    assert link.is_visible()
    assert page.locator("nav [aria-current=page]:visible").count() == 1
    link.click()
    page.wait_for_url("**/admin/audit")
    at(page, 1280)
    assert page.locator("nav a:visible").count() == 10


def test_people_who_have_a_session_have_signed_in(page, year):
    page.goto(f"{year.url}/admin/users")
    text = page.locator("table").inner_text()
    assert "Never" not in text and "Nie\n" not in text
    assert len(PEOPLE) == page.locator("tbody tr").count() and MONTHS == 12 and len(BROWSERS[2]) > 150


def test_an_invitation_names_who_has_made_it(page, year):
    page.goto(f"{year.url}/admin/invitations")
    assert page.locator("tbody tr").count() > 0
    assert "Grace Hopper" in page.locator("tbody tr").first.inner_text()
