"""How the gallery runs the scripts of `examples`, and finds the pictures that they save."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

# From what a newcomer wants to see to what few need.
ORDER = [
    "quickstart.py",
    "displays.py",
    "coal_mining.py",
    "redwoods.py",
    "point_patterns.py",
    "components.py",
    "forecast.py",
    "fine_grid.py",
    "representations.py",
    "prior_draws.py",
    "surrogate_data.py",
    "dask_cluster.py",
]
# At full length they take less than half a minute of one core, and their pictures are better.
FULL = {
    "coal_mining.py",
    "forecast.py",
    "prior_draws.py",
    "quickstart.py",
    "redwoods.py",
    "surrogate_data.py",
}
# Where the pictures of a page of the gallery begin, or what the script prints.
RESULTS = re.compile(
    r"^\.\. (?=image-sg|rst-class:: sphx-glr-(horizontal|script-out))", re.MULTILINE
)
SHORT = """\
.. note::

   All on this page is of a short run, with ``--quick``: a few draws, to see that it works.

"""
OUTPUT = Path(__file__).resolve().parents[1] / "_build" / "pictures"


class Order:
    """The key by which the gallery sorts the scripts; one that is not listed is an error.

    It is asked about the parts of scripts too, which begin with an underscore and have no page.
    """

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, name: str) -> int:
        return len(ORDER) if name.startswith("_") else ORDER.index(name)

    def __repr__(self) -> str:
        return "<Order>"


class Arguments:
    """The arguments that a script is run with: `--quick` for most, and where its pictures go."""

    def __call__(self, gallery_conf: dict, script_vars: dict) -> list[str]:
        path = Path(script_vars["src_file"])
        folder = OUTPUT / path.stem
        folder.mkdir(parents=True, exist_ok=True)
        length = [] if path.name in FULL else ["--quick"]
        source = path.read_text(encoding="utf-8")
        if '"--output"' not in source:
            return length
        # Scripts with one picture take the name of its file, others that of a folder.
        is_file = re.search(r'"--output", default="\w+\.png"', source)
        return [*length, "--output", str(folder / f"{path.stem}.png" if is_file else folder)]

    def __repr__(self) -> str:
        return "<Arguments>"


def pictures(block, block_vars: dict, gallery_conf: dict) -> str:
    """Move the pictures of a script to where the gallery has them; return what shows them there."""
    from sphinx_gallery.scrapers import figure_rst

    name = Path(block_vars["src_file"]).stem
    targets = []
    # In the order in which they were saved.
    for path in sorted((OUTPUT / name).glob("*.png"), key=lambda path: path.stat().st_mtime_ns):
        targets.append(next(block_vars["image_path_iterator"]))
        shutil.move(path, targets[-1])
    return figure_rst(targets, gallery_conf["src_dir"], f"What {name}.py draws")


def mend(app, page: str, content: list[str]) -> None:
    """Say on a script's page that its run was short, and leave out the folder of its pictures."""
    folder, _, name = page.partition("/")
    if folder != "gallery":
        return
    content[0] = content[0].replace(f"{OUTPUT}{os.sep}", "")
    if f"{name}.py" in ORDER and f"{name}.py" not in FULL:
        content[0] = RESULTS.sub(SHORT + ".. ", content[0], count=1)
