"""Counts that say how easy the package is to read: its way from data to result, rooms, floors.

Files entered and moves from one file to another, from `fit` to the first Cholesky factor and in
`predict_proba`; modules at the top; lines of code without docstrings, comments and blanks; the
longest chain of imports. Of another version: ``--package`` with the folder that it is in.

    python -m benchmarks.house [--package FOLDER]
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
import warnings
from collections.abc import Callable, Collection
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = "skgpmcmc"


class FirstFactor(BaseException):
    """Raised at the first Cholesky factor, to end the walk there."""


class Walk:
    """The files that calls come to, in their order."""

    def __init__(self, folder: Path, last: str | None = None) -> None:
        self.folder, self.last = str(folder), last
        self.files: list[str] = []

    def __call__(self, frame, event, argument) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(self.folder):
            self.files.append(file)
            if frame.f_code.co_name == self.last:
                sys.setprofile(None)
                raise FirstFactor

    def of(self, action: Callable[[], object]) -> tuple[int, int]:
        """Return how many files the action enters, and how often it moves to another one."""
        sys.setprofile(self)
        try:
            action()
        except FirstFactor:
            pass
        finally:
            sys.setprofile(None)
        moves = sum(a != b for a, b in zip(self.files, self.files[1:], strict=False))
        return len(set(self.files)), moves


def walks(folder: Path) -> dict[str, tuple[int, int]]:
    """Return files entered and moves between them, of a small classifier."""
    import numpy as np

    from skgpmcmc import MCMCGaussianProcessClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=30) > 0.0
    options = {"representation": "surr-site", "hyperparameter_update": "slice"}
    model = MCMCGaussianProcessClassifier(
        n_chains=1, n_warmup=5, n_draws=5, random_state=0, **options
    )
    found = {
        "fit, to the first factor": Walk(folder, "cholesky_in_place").of(lambda: model.fit(X, y))
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return found | {"predict_proba": Walk(folder).of(lambda: model.predict_proba(X))}


def code_lines(path: Path) -> int:
    """Return the number of lines with code: no docstrings, comments or blanks."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            lines -= set(range(first.lineno, first.end_lineno + 1))
    return len(lines)


def modules_of(folder: Path) -> dict[str, Path]:
    """Return the file of each module by its dotted name."""
    modules = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imported_modules(
    source: str, module: str, known: Collection[str], *, is_package: bool = False
) -> set[str]:
    """Return modules that a source imports anywhere; those of the package by their full name.

    Parameters
    ----------
    source : str
        Of a module.
    module : str
        Its dotted name.
    known : collection of str
        Dotted names of the package's modules: what else is imported from there is a name in one.
    is_package : bool
        Whether it is the ``__init__`` of a folder.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parents = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parents, base] if base else parents)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in known else base)
    return found


def floors(modules: dict[str, Path]) -> int:
    """Return the length of the longest chain of imports between rooms (top modules, folders)."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        source, is_package = path.read_text(encoding="utf-8"), path.name == "__init__.py"
        imported = imported_modules(source, module, modules, is_package=is_package)
        others = {room(other) for other in imported & modules.keys()} - {PACKAGE}
        graph.setdefault(room(module), set()).update(others - {room(module)})
    level: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        level[name] = 1 + max((level[other] for other in graph[name]), default=0)
    return max(level.values())


def main() -> None:
    """Print all counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, default=Path(__file__).resolve().parents[1])
    root = parser.parse_args().package.resolve()
    sys.path.insert(0, str(root))
    folder = root / PACKAGE
    modules = modules_of(folder)
    for name, (n_files, n_moves) in walks(folder).items():
        print(f"{name:<30}{n_files:>7} files{n_moves:>7} moves")
    top = [path for path in folder.glob("_*.py") if path.name != "__init__.py"]
    print(f"{'private modules at the top':<30}{len(top):>7} of {len(modules)} modules")
    print(f"{'lines of code':<30}{sum(map(code_lines, modules.values())):>7}")
    print(f"{'longest chain of imports':<30}{floors(modules):>7} rooms")


if __name__ == "__main__":
    main()
