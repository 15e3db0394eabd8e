"""The Python code of the README, the guide and the site runs, one block after the other."""

import ast
import re
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

import skgpmcmc

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
GUIDE = sorted((ROOT / "examples" / "guide").glob("*.md"))
SITE = [ROOT / "docs" / "start.md", ROOT / "docs" / "migration.md"]
ESTIMATORS = (
    skgpmcmc.MCMCGaussianProcessClassifier,
    skgpmcmc.MCMCGaussianProcessRegressor,
    skgpmcmc.MCMCCoxProcessRegressor,
)


@pytest.fixture(autouse=True)
def pictures(monkeypatch):
    """Draw off the screen, and close what was drawn."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def run(path):
    """Run the blocks of a page, and return their names."""
    namespace: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, block in enumerate(blocks(path)):
            code = compile(block.replace("n_jobs=-1", "n_jobs=1"), f"{path.name}, {number}", "exec")
            exec(code, namespace)
    return namespace


@pytest.mark.second_stage
def test_readme_code_runs(capsys):
    assert len(blocks(README)) >= 2
    namespace = run(README)
    assert "rhat" in capsys.readouterr().out
    assert namespace["model"].priors.keys() == {"k2__length_scale"}


@pytest.mark.second_stage
@pytest.mark.parametrize("page", [*GUIDE, *SITE], ids=lambda path: path.stem)
def test_guide_code_runs(page, monkeypatch):
    # The pages have the default settings, as a reader would; here the defaults are short.
    for estimator in ESTIMATORS:
        for name, value in {"n_chains": 2, "n_warmup": 10, "n_draws": 20}.items():
            monkeypatch.setitem(estimator.__init__.__kwdefaults__, name, value)
    assert run(page) or page.stem == "errors-and-warnings"


def links(path):
    return re.findall(r"\]\(([^)#:]+\.(?:md|py|png))\)", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [README, ROOT / "examples" / "README.md", *GUIDE], ids=str)
def test_links_lead_somewhere(page):
    for link in links(page):
        assert (page.parent / link).exists(), link


def test_the_guide_has_an_index():
    assert set(links(ROOT / "examples" / "README.md")) >= {f"guide/{page.name}" for page in GUIDE}


def quoted():
    """What the page of errors and warnings quotes of messages, in parts that stand in the code."""
    text = (ROOT / "examples" / "guide" / "errors-and-warnings.md").read_text(encoding="utf-8")
    for bold in re.findall(r"^(?:\||)\s*\*\*(.+?)\*\*", text, re.MULTILINE):
        words = re.sub(r"^(KeyboardInterrupt|ChainDiedError): ", "", bold)
        yield from (part.strip() for part in words.split("...") if part.strip())


@pytest.mark.parametrize("words", list(quoted()))
def test_quoted_messages_are_in_the_code(words):
    def plain(text):
        # Strings that go on in the next line are one; what is filled in is not quoted.
        return re.sub(r'"\s*\n\s*f?"', "", text)

    sources = [
        plain(path.read_text(encoding="utf-8")) for path in (ROOT / "skgpmcmc").rglob("*.py")
    ]
    assert any(words in source for source in sources), words


def warnings_raised():
    """The texts in the calls of `warn_user`, by where they stand; not those made elsewhere."""
    for path in sorted((ROOT / "skgpmcmc").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_user":
                parts = [part for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]
                texts = [part.value for part in parts if len(str(part.value)) > 10]
                if texts:
                    yield pytest.param(texts, id=f"{path.stem}:{node.lineno}")


@pytest.mark.parametrize("texts", list(warnings_raised()))
def test_every_warning_is_on_the_page(texts):
    page = (ROOT / "examples" / "guide" / "errors-and-warnings.md").read_text(encoding="utf-8")
    bold = [
        part.strip() for words in re.findall(r"\*\*(.+?)\*\*", page) for part in words.split("...")
    ]
    assert any(words in text for words in bold if len(words) > 10 for text in texts), texts
