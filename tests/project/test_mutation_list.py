"""The list of faults that the tests must notice is true to the code."""

import ast

import pytest

from benchmarks._mutations import MUTATIONS
from benchmarks.mutation import ROOT, Outcome, mutated, page


def _id(mutation):
    return f"{mutation.file}: {mutation.new}"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=_id)
def test_each_fault_can_be_made_and_is_one(mutation):
    source = (ROOT / "skgpmcmc" / mutation.file).read_text()
    changed = mutated(mutation, source)
    assert len(changed.splitlines()) == len(source.splitlines())
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=_id)
def test_tests_that_should_notice_exist(mutation):
    files = [word for word in mutation.tests.split() if word.endswith(".py")]
    assert files
    for name in files:
        assert (ROOT / name).is_file(), name


def test_faults_differ():
    assert len({(mutation.file, mutation.new) for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize(("source", "n_found"), [("x = 0\n", 0), ("a + b\na + b\n", 2)])
def test_a_line_that_is_not_there_once_is_refused(source, n_found):
    mutation = MUTATIONS[0]._replace(old="a + b", new="a - b")
    with pytest.raises(ValueError, match=f"it occurs {n_found} times"):
        mutated(mutation, source)


def test_page_counts_survivors():
    text = page([Outcome(1, "tests/test_a.py::test_a", 3.2), Outcome(2, None, 60.0)])
    assert "Of 2 faults of one line each, 1 are\nnoticed (50%)" in text
    assert text.count("SURVIVED") == 1
    assert "| `tests/test_a.py::test_a` | 3 |" in text
