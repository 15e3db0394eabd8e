"""The README's Python code runs, one block after the other."""

import re
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

README = Path(__file__).resolve().parents[1] / "README.md"


def test_readme_code_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    namespace: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for block in blocks:
            exec(block.replace("n_jobs=-1", "n_jobs=1"), namespace)
    assert "rhat" in capsys.readouterr().out
    assert namespace["model"].priors.keys() == {"k2__length_scale"}
