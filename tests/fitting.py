"""A page in a browser: what it reports, and what of it a reader cannot see on a telephone and on a small screen."""

from pathlib import Path

WIDTHS = (390, 1280)

# Everything folded is opened. On a telephone a table may be wider than its box where the box scrolls; an image is not
# shrunk to less than half its size, so that its text can be read; a text that is in sight is hit by a click in its
# middle, so nothing lies on it.
_MEASURE = """() => {
  document.querySelectorAll('details').forEach(one => one.open = true);
  const width = document.documentElement.clientWidth, found = [];
  const told = (what, one) => found.push(what + ': ' + (one.textContent || one.src || '').trim().slice(0, 60));
  const scrolls = one => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX);
  const inBox = one => { for (let up = one; up; up = up.parentElement) if (scrolls(up)) return true; return false; };
  if (document.documentElement.scrollWidth > width) found.push('the page is ' + document.documentElement.scrollWidth);
  for (const one of document.querySelectorAll('table, pre, p, img, svg, li, dd')) {
    const box = one.getBoundingClientRect();
    if (box.width && box.right > width + 1 && box.left < width && !inBox(one)) told('cut', one);
  }
  for (const one of document.images)
    if (!one.naturalWidth || one.getBoundingClientRect().width < Math.min(600, one.naturalWidth / 2))
      told(one.naturalWidth ? 'small' : 'empty', one);
  for (const one of width > 600 ? document.querySelectorAll('table') : [])
    for (let up = one; up; up = up.parentElement)
      if (scrolls(up) && up.scrollWidth > up.clientWidth + 1) told('scrolls', one);
  const texts = [...document.querySelectorAll('h1, h2, p, td, summary, figcaption, .t')].filter(one =>
    one.textContent.trim() && one.checkVisibility() && one.getClientRects().length);
  const step = Math.max(1, Math.floor(texts.length / 150));
  for (let i = 0; i < texts.length; i += step) {
    texts[i].scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const box = texts[i].getClientRects()[0];
    const hit = document.elementFromPoint(box.left + Math.min(box.width / 2, 40), box.top + box.height / 2);
    if (hit && !texts[i].contains(hit) && !hit.contains(texts[i])) told('covered by ' + hit.tagName, texts[i]);
  }
  return found;
}"""


def faults(browser, page: Path) -> list[str]:
    """What is cut, covered or empty on a page, a line each, with the width; a request to elsewhere counts too."""
    found = []
    for width in WIDTHS:
        tab = browser.new_page(viewport={"width": width, "height": 900})
        asked: list[str] = []
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        tab.goto(page.absolute().as_uri())
        found += [f"{page.name} at {width}: {fault}" for fault in tab.evaluate(_MEASURE)]
        found += [f"{page.name} asks for {url}" for url in asked if not url.startswith(("file:", "data:"))]
        tab.close()
    return found


def opened(browser, file: Path, html: str, width: int = 1280) -> tuple:
    """A page that was written into a file, and the list of what it reports or asks for, its own file first."""
    file.write_text(html, encoding="utf-8", newline="\n")
    tab, events = browser.new_page(viewport={"width": width, "height": 900}), []
    tab.on("request", lambda request: events.append(request.url))
    tab.on("console", lambda message: events.append(message.text))
    tab.on("pageerror", lambda error: events.append(str(error)))
    tab.goto(file.as_uri())
    assert events == [file.as_uri()]
    return tab, events
