"""What all estimators document in the same words stands in the docstrings of all."""

import inspect

import pytest

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.estimators._documentation import _BLOCKS, _METHOD_BLOCKS, with_shared_documentation


@pytest.mark.parametrize(
    "estimator",
    [MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor, MCMCCoxProcessRegressor],
)
def test_every_block_stands_in_every_docstring(estimator):
    text = inspect.getdoc(estimator)
    assert "%(" not in text
    assert all(block in text for block in _BLOCKS.values())
    of_method = inspect.getdoc(estimator.prediction_mcse)
    assert "%(" not in of_method
    assert _METHOD_BLOCKS["mcse"] in of_method


@pytest.mark.parametrize("indent", ["    ", ""])
def test_blocks_have_the_indentation_of_their_place(indent):
    documented = type("A", (), {"__doc__": f"A.\n\n{indent}%(random_state)s\n{indent}end\n"})
    lines = with_shared_documentation(documented).__doc__.split("\n")
    assert lines[2].startswith(f"{indent}random_state : int")
    assert lines[3] == f"{indent}    Determines all draws."
    assert lines[-2] == f"{indent}end"


def test_classes_without_a_docstring_stay_without():
    assert with_shared_documentation(type("A", (), {"__doc__": None})).__doc__ is None


def test_unknown_blocks_are_refused():
    with pytest.raises(KeyError, match="nothing"):
        with_shared_documentation(type("A", (), {"__doc__": "    %(nothing)s\n"}))
