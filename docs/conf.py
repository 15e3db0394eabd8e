"""How Sphinx builds the site; CONTRIBUTING.md has the command.

The contents are elsewhere: the guide in `examples/guide`, scripts in `examples`, docstrings in the
package, measurements in `benchmarks`, and this folder has only the pages that bind them together.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE / "tools")]
# One thread, on a canvas that needs no screen, for the scripts and the processes that they start.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}

import gallery  # noqa: E402
import mathml  # noqa: E402
import members  # noqa: E402
import pages  # noqa: E402

import skgpmcmc  # noqa: E402

project = "skgpmcmc"
author = "the skgpmcmc developers"
copyright = f"2026, {author}"
version = release = skgpmcmc.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_templates", "tools"]
templates_path = ["_templates"]
nitpicky = True
# The pages of other packages are not asked whether they have a name: a build needs no network.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|scipy)\..*")]
# The settings that are objects are no reason to read every page anew.
suppress_warnings = ["config.cache"]
# Single backticks in docstrings stand around names and parameters.
default_role = "code"

# Reference. Signatures tell names and defaults; types are described in words below them.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autosummary_generate = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Guide.
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

# Gallery.
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    # A cluster's workers print of their own, and nothing that a page needs: its source is enough.
    "filename_pattern": r"(?<!dask_cluster)\.py$",
    "default_thumb_file": str(ROOT / "examples" / "pictures" / "trace_coal_mining.png"),
    "ignore_pattern": "^_",
    "within_subsection_order": gallery.Order,
    "image_scrapers": (gallery.pictures,),
    "reset_argv": gallery.Arguments(),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "doc_module": (),
    "backreferences_dir": None,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
# These pages have no others below them.
html_sidebars = {"index": [], "start": [], "how_it_works": []}
html_theme_options = {
    "logo": {"text": project},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
}


def setup(app):
    """Bring the pages from elsewhere, and connect what Sphinx has no setting for."""
    pages.copy(ROOT, HERE)
    mathml.setup(app)
    app.connect("autodoc-skip-member", members.skip)
    app.connect("source-read", gallery.mend)
