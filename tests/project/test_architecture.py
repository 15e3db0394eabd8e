"""The package's imports run one way, read from the source by `ast`.

Every module has a layer. It may import from lower layers, and from its own layer only
inside its own subpackage. The checks are functions of source text, so that each has a
negative control: a source that breaks the rule must be reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from benchmarks import house
from benchmarks.house import modules_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "skgpmcmc"

LAYERS = {
    "skgpmcmc._checks": 1,
    "skgpmcmc._grid": 1,
    "skgpmcmc._linalg": 1,
    "skgpmcmc._messages": 1,
    "skgpmcmc._version": 1,
    "skgpmcmc.datasets": 1,
    "skgpmcmc.exceptions": 1,
    "skgpmcmc._covariance": 2,
    "skgpmcmc._serialization": 2,
    "skgpmcmc.diagnostics": 2,
    "skgpmcmc.likelihoods": 2,
    "skgpmcmc.priors": 2,
    "skgpmcmc.updates": 2,
    "skgpmcmc._model": 3,
    "skgpmcmc.point_patterns": 3,
    "skgpmcmc.representations": 4,
    "skgpmcmc.trace": 4,
    "skgpmcmc._prediction": 5,
    "skgpmcmc._sampling": 5,
    "skgpmcmc._running": 6,
    "skgpmcmc.estimators": 7,
    "skgpmcmc.comparison": 8,
    "skgpmcmc.core": 8,
    "skgpmcmc.displays": 8,
}
TOP_LAYER = 9
OPTIONAL_DEPENDENCIES = {"matplotlib", "arviz", "dask", "pandas"}


MODULES = modules_of(ROOT / PACKAGE)


def layer_of(module: str) -> int | None:
    """The layer of the longest listed prefix; None for a module that nobody listed."""
    if module == PACKAGE:
        return TOP_LAYER
    parts = module.split(".")
    prefixes = (".".join(parts[:n]) for n in range(len(parts), 1, -1))
    return next((LAYERS[prefix] for prefix in prefixes if prefix in LAYERS), None)


def subpackage_of(module: str) -> str:
    """The module or subpackage directly below the package that `module` belongs to."""
    return ".".join(module.split(".")[:2])


def imported_modules(source: str, module: str, *, is_package: bool = False) -> set[str]:
    """Modules that `source` imports anywhere, those of the package by their full name."""
    return house.imported_modules(source, module, MODULES.keys() | LAYERS, is_package=is_package)


def is_own(module: str) -> bool:
    return module.split(".")[0] == PACKAGE


def layer_violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Describe every import in `source` that does not go to a lower layer."""
    own_layer = layer_of(module)
    if own_layer is None:
        return [f"{module} is in no layer: add it to LAYERS"]
    violations = []
    for target in sorted(filter(is_own, imported_modules(source, module, is_package=is_package))):
        layer = layer_of(target)
        if layer is None:
            violations.append(f"{module} imports {target}, which is in no layer")
        elif layer > own_layer or (
            layer == own_layer and subpackage_of(module) != subpackage_of(target)
        ):
            violations.append(f"{module} (layer {own_layer}) imports {target} (layer {layer})")
    return violations


def import_time_statements(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements that run when the module is imported."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING":
            yield from import_time_statements(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from import_time_statements(getattr(node, field, []))


def eager_optional_imports(source: str) -> set[str]:
    """Optional dependencies that `source` needs at import time."""
    names = set()
    for node in import_time_statements(ast.parse(source).body):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif not node.level and node.module:
            names.add(node.module)
    return {name.split(".")[0] for name in names} & OPTIONAL_DEPENDENCIES


def module_cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one import cycle, empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def project_text_files() -> list[Path]:
    """The project's own text files; virtual environments and build output are not searched."""
    patterns = ["*.md", "*.cff", "*.toml", "*.yaml", ".*.yaml", ".ci/run"]
    folders = [
        PACKAGE,
        "tests",
        "examples",
        "benchmarks",
        "docs/_static",
        "docs/_templates",
        "docs/tools",
    ]
    extensions = ["py", "md", "rst", "txt", "css", "toml", "yaml", "json"]
    patterns += [f"{folder}/**/*.{extension}" for folder in folders for extension in extensions]
    patterns += [f"docs/*.{extension}" for extension in extensions]
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def machine_paths(text: str) -> list[str]:
    """Lines with an absolute path of the machine on which the project was written."""
    # The class around one letter keeps this file itself clean.
    return [line for line in text.splitlines() if re.search(r"(?<![\w.-])/wor[k]/", line)]


def test_the_package_was_found():
    assert PACKAGE in MODULES
    assert "skgpmcmc.datasets._loaders" in MODULES


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_to_lower_layers(module):
    path = MODULES[module]
    source = path.read_text(encoding="utf-8")
    assert layer_violations(source, module, is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize("module", MODULES)
def test_optional_dependencies_are_imported_lazily(module):
    assert eager_optional_imports(MODULES[module].read_text(encoding="utf-8")) == set()


def test_no_import_cycle():
    graph = {
        module: imported_modules(
            path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py"
        )
        for module, path in MODULES.items()
    }
    assert module_cycle(graph) == []


def test_no_path_of_the_build_machine():
    files = project_text_files()
    assert ROOT / "pyproject.toml" in files
    found = {path.name: machine_paths(path.read_text(encoding="utf-8")) for path in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("skgpmcmc.priors", "import skgpmcmc.likelihoods"),
        ("skgpmcmc.priors", "import skgpmcmc"),
        ("skgpmcmc.priors", "from skgpmcmc import trace"),
        ("skgpmcmc.priors", "from . import trace"),
        ("skgpmcmc.priors", "from .trace import Trace"),
        ("skgpmcmc.priors", "def f():\n    from skgpmcmc.trace import Trace"),
        ("skgpmcmc.priors", "from skgpmcmc.diagnostics import rhat"),
        ("skgpmcmc.updates._slice", "from skgpmcmc.likelihoods import PoissonLikelihood"),
        ("skgpmcmc.likelihoods._base", "from .._model import LatentState"),
        ("skgpmcmc._running._chains", "from skgpmcmc.estimators._cox import Cox"),
        ("skgpmcmc._sampling._chain", "from skgpmcmc.estimators import Cox"),
        (
            "skgpmcmc._linalg",
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from skgpmcmc._model._model import LatentState",
        ),
        ("skgpmcmc.nowhere", "import numpy"),
        ("skgpmcmc.displays", "from skgpmcmc.nowhere import x"),
    ],
)
def test_layer_check_reports(module, source):
    assert len(layer_violations(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("skgpmcmc.updates._slice", "import numpy as np\nfrom scipy import linalg"),
        ("skgpmcmc._model._model", "from skgpmcmc import priors"),
        ("skgpmcmc._model._model", "from .likelihoods._base import Likelihood"),
        ("skgpmcmc.likelihoods._poisson", "from ._base import Likelihood"),
        ("skgpmcmc.likelihoods._poisson", "from .. import _linalg"),
        ("skgpmcmc.estimators._cox", "from skgpmcmc.estimators._base import Base"),
        ("skgpmcmc", "from skgpmcmc.displays import TraceDisplay"),
    ],
)
def test_layer_check_accepts(module, source):
    assert layer_violations(source, module) == []


def test_layer_check_reads_relative_imports_of_a_package_from_the_package_itself():
    source = "from ._base import Likelihood\nfrom ..exceptions import MissingCapabilityError"
    found = imported_modules(source, "skgpmcmc.likelihoods", is_package=True)
    assert found == {"skgpmcmc.likelihoods._base", "skgpmcmc.exceptions"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import pandas as pd", {"pandas"}),
        ("import matplotlib.pyplot as plt", {"matplotlib"}),
        ("try:\n    from arviz import from_dict\nexcept ImportError:\n    pass", {"arviz"}),
        ("try:\n    pass\nexcept ImportError:\n    import dask", {"dask"}),
        ("class A:\n    import pandas", {"pandas"}),
        ("def f():\n    import pandas", set()),
        ("class A:\n    def f(self):\n        import pandas", set()),
        ("if TYPE_CHECKING:\n    from matplotlib.axes import Axes", set()),
        ("if not TYPE_CHECKING:\n    import pandas", {"pandas"}),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import pandas", {"pandas"}),
        ("from .pandas import x", set()),
    ],
)
def test_lazy_import_check(source, expected):
    assert eager_optional_imports(source) == expected


def test_cycle_check_reports():
    assert set(module_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert module_cycle({"a": {"b"}, "b": {"c"}}) == []


def test_machine_path_check_reports():
    folder = "/" + "work" + "/"
    assert machine_paths(f"open('{folder}x')\nfine\nsee {folder}y") == [
        f"open('{folder}x')",
        f"see {folder}y",
    ]
    assert machine_paths(f"https://example.org{folder}x and frame{folder}x") == []
