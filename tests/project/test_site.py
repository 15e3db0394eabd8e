"""The pages of the documentation site are complete. Sphinx, which builds them, is not needed."""

import importlib.util
import re
from pathlib import Path

import pytest
from test_public_interface import MODULES

import skgpmcmc

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def tool(name):
    """A module of docs/tools."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery, links, pages = tool("gallery"), tool("links"), tool("pages")
COPIES = pages.sources(ROOT)
OWN_PAGES = sorted(
    path for path in DOCS.glob("*.*") if path.suffix in (".md", ".rst")
    and path.name not in COPIES.values()
)  # fmt: skip


def documented(text):
    """Names in the tables of a page of the reference, with their modules."""
    module, names = "", set()
    for line in text.splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.fullmatch(r"   ([A-Za-z][\w.]*)", line):
            names.add(f"{module}.{found[1]}")
    return names


def resolved(name):
    """The object of a full name."""
    parts = name.split(".")
    for n in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            value = getattr(value, part)
        return value
    raise ImportError(name)


def public_objects():
    """Every public class and function, by its full names."""
    for name in MODULES:
        module = importlib.import_module(name)
        for member in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, member)
            if not member.startswith("_") and str(getattr(value, "__module__", "")).startswith(
                "skgpmcmc"
            ):
                yield f"{name}.{member}", value


def test_reference_has_every_public_class_and_function():
    there = [resolved(name) for name in documented((DOCS / "reference.rst").read_text("utf-8"))]
    missing = [
        name for name, value in public_objects() if not any(value is other for other in there)
    ]
    assert missing == []
    assert len(there) > 60


def test_reference_has_nothing_else():
    public = [value for _, value in public_objects()]
    for name in documented((DOCS / "reference.rst").read_text("utf-8")):
        assert any(resolved(name) is value for value in public), name


def test_gallery_has_every_script():
    assert set(gallery.ORDER) == {path.name for path in (ROOT / "examples").glob("[!_]*.py")}


@pytest.mark.parametrize("name", gallery.ORDER)
def test_scripts_begin_with_a_title(name):
    lines = (ROOT / "examples" / name).read_text("utf-8").removeprefix('"""').splitlines()
    assert lines[0].strip()
    assert lines[1] == "=" * len(lines[0])


def entries(path):
    """Pages in the tables of contents of a page."""
    for block in re.findall(r"```{toctree}\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                yield re.sub(r".*<(.*)>", r"\1", line)


def test_every_page_is_in_a_table_of_contents():
    listed = [name for path in OWN_PAGES if path.suffix == ".md" for name in entries(path)]
    there = [path.stem for path in OWN_PAGES if path.stem != "index"] + ["gallery/index"]
    there += [target.removesuffix(".md") for target in COPIES.values() if target.endswith(".md")]
    assert sorted(listed) == sorted(there)


def targets(text):
    """Targets within the project of the links and pictures of a page in Markdown."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"\w+:", target) and not target.startswith("#"):
            yield target.split("#")[0]


@pytest.mark.parametrize("page", [p for p in OWN_PAGES if p.suffix == ".md"], ids=lambda p: p.stem)
def test_links_of_own_pages_lead_somewhere(page):
    there = set(pages.destinations(ROOT).values()) | {path.name for path in OWN_PAGES}
    there.add("gallery/index.rst")
    for target in targets(page.read_text("utf-8")):
        assert target in there or target.startswith("reference/skgpmcmc."), target


@pytest.mark.parametrize("source", [source for source in COPIES if source.endswith(".md")])
def test_links_of_copied_pages_lead_somewhere(source):
    destinations = pages.destinations(ROOT)
    text = pages.relink((ROOT / source).read_text("utf-8"), source, destinations)
    folder = (DOCS / destinations[source]).parent
    there = {(DOCS / target).resolve() for target in destinations.values()}
    for target in targets(text):
        assert (folder / target).resolve() in there, target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[how](diagnostics.md#top)", "[how](diagnostics.md#top)"),
        ("[all](../README.md)", "[all](../user_guide.md)"),
        ("[x.py](../quickstart.py)", "[x.py](../gallery/quickstart.rst)"),
        ("[tests](../../tests/problems.py)", "tests (`tests/problems.py`)"),
        ("[problems.py](../../tests/problems.py)", "`tests/problems.py`"),
        ("[web](https://scikit-learn.org)", "[web](https://scikit-learn.org)"),
        ("[here](#below) ![p](../pictures/a.png)", "[here](#below) ![p](../pictures/a.png)"),
    ],
)
def test_links_are_mended(text, expected):
    found = pages.relink(text, "examples/guide/kernel-and-priors.md", pages.destinations(ROOT))
    assert found == expected


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="top"><a href="b.html#x">1</a><a href="c.html">2</a><a href="#top">3</a>'
        '<script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="y"><a href="a.html#top">1</a>')
    assert links.faults(tmp_path.resolve()) == [
        "a.html: loads https://example.org/x.js",
        "a.html: no anchor b.html#x",
        "a.html: no file c.html",
    ]


def test_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == skgpmcmc.__version__
