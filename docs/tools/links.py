"""Check that every link of the built site leads somewhere within it: pages, anchors and files.

    python docs/tools/links.py docs/_build/html

Links to other servers are not followed; pictures, styles and scripts from there are errors, so
that the site can be read without a network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href")}


class Page(HTMLParser):
    """The anchors of a page, and what it links to and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.foreign: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and not urlsplit(value).scheme:
                self.targets.append(value)
            elif (tag, name) in LOADED and urlsplit(value).scheme in ("http", "https"):
                self.foreign.append(value)


def faults(folder: Path) -> list[str]:
    """Describe every link that leads nowhere, and everything that is loaded from elsewhere."""
    # The theme's own templates lie among its files.
    paths = sorted(set(folder.rglob("*.html")) - set((folder / "_static").rglob("*.html")))
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        here = path.relative_to(folder)
        found += [f"{here}: loads {value}" for value in page.foreign]
        for target in page.targets:
            parts = urlsplit(target)
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[file].anchors if file in pages else {parts.fragment}
            if not file.is_file():
                found.append(f"{here}: no file {target}")
            elif parts.fragment and unquote(parts.fragment) not in anchors:
                found.append(f"{here}: no anchor {target}")
    return found


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]).resolve())
    print("\n".join(lines) or "all links within the site lead somewhere")
    sys.exit(bool(lines))
