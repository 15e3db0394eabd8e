"""Bring pages that live elsewhere in the project into the site, and mend their links."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

# Where a file of the project is in the site. Others are not there, and are called by their paths.
SINGLE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "measurements/index.md",
    "benchmarks/paper/README.md": "measurements/paper.md",
    "benchmarks/peers/README.md": "measurements/peers.md",
    "benchmarks/results/peers.md": "measurements/peers_results.md",
    "benchmarks/results/peers_redwoods.md": "measurements/peers_redwoods.md",
    "benchmarks/tables/README.md": "measurements/tables.md",
}
# Pages of this folder that the project's own pages may link to by the file they stand for.
ALIASES = {"README.md": "index.md", "examples/README.md": "user_guide.md"}
FOLDERS = {"examples/guide": "guide", "examples/pictures": "pictures"}

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def sources(root: Path) -> dict[str, str]:
    """Return the path in the site of every file that is copied, by its path in the project."""
    found = dict(SINGLE)
    for folder, target in FOLDERS.items():
        for path in sorted((root / folder).iterdir()):
            found[f"{folder}/{path.name}"] = f"{target}/{path.name}"
    return found


def destinations(root: Path) -> dict[str, str]:
    """Return the page of every file of the project that has one; scripts are in the gallery."""
    scripts = {
        f"examples/{path.name}": f"gallery/{path.stem}.rst"
        for path in (root / "examples").glob("[!_]*.py")
    }
    return sources(root) | ALIASES | scripts


def relink(text: str, source: str, pages: dict[str, str]) -> str:
    """Return a page with links to the site's pages, and paths in place of other links.

    Parameters
    ----------
    text : str
        The page, in Markdown.
    source : str
        Its path in the project.
    pages : dict
        Path in the project -> path in the site.
    """
    here = PurePosixPath(pages[source]).parent

    def replacement(match: re.Match) -> str:
        words, anchor = match["text"], match["anchor"] or ""
        path = os.path.normpath(PurePosixPath(source).parent / match["target"])
        if path in pages:
            return f"[{words}]({os.path.relpath(pages[path], here)}{anchor})"
        return f"`{path}`" if path.endswith(words.strip("`")) else f"{words} (`{path}`)"

    return LINK.sub(replacement, text)


def copy(root: Path, docs: Path) -> None:
    """Copy all pages and pictures; files that are the same already keep their time of change."""
    pages = destinations(root)
    wanted = sources(root)
    for source, target in wanted.items():
        content = (root / source).read_bytes()
        if source.endswith(".md"):
            content = relink(content.decode("utf-8"), source, pages).encode("utf-8")
        path = docs / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.exists() and path.read_bytes() == content):
            path.write_bytes(content)
    for folder in ("guide", "pictures", "measurements"):
        for path in (docs / folder).iterdir():
            if f"{folder}/{path.name}" not in wanted.values():
                path.unlink()
