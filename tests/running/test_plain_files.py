"""Objects as plain arrays and JSON; files that are there whole or not at all."""

import math
import os
import pickle
import time
import traceback
from typing import NamedTuple

import numpy as np
import pytest

from skgpmcmc import _serialization
from skgpmcmc._serialization import is_part, load_arrays, remove_parts, replace_file


class Pair(NamedTuple):
    left: object
    right: object


class Thing:
    def __init__(self, needed):
        self.needed = needed


@pytest.fixture
def registered(monkeypatch):
    """Return a function that registers classes for the time of the test."""

    def register(*classes):
        for cls in classes:
            monkeypatch.setitem(_serialization._classes, cls.__name__, cls)

    return register


def there_and_back(value, path):
    _serialization.save(path, value)
    return _serialization.load(path)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "text with \u00e9 and \n",
        -(2**127) + 1,
        5e-324,
        0.1 + 0.2,
        -0.0,
        math.inf,
        [1, (2, [3.5, ()]), {}],
        {"array": 1, "class": {"dict": [1]}, 3: "three"},
        {(1, "a"): None},
    ],
)
def test_values_come_back(tmp_path, value):
    back = there_and_back(value, tmp_path / "file.npz")
    assert back == value
    assert repr(back) == repr(value)


def test_nan_comes_back(tmp_path):
    assert math.isnan(there_and_back(math.nan, tmp_path / "file.npz"))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64, complex, "U3"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 4)])
def test_arrays_come_back_to_the_last_bit(tmp_path, dtype, shape):
    size = math.prod(shape) * np.dtype(dtype).itemsize
    array = np.random.default_rng(0).bytes(size)
    array = np.frombuffer(b"\1" * size if dtype in (bool, "U3") else array, dtype=dtype)
    if dtype == "U3":
        array = np.full(math.prod(shape), "abc")
    array = np.asfortranarray(array.reshape(shape))
    back = there_and_back({"x": [array, array[:0]] if shape else array}, tmp_path / "file.npz")
    back = back["x"][0] if shape else back["x"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()
    assert back.flags.f_contiguous


def test_state_of_a_generator_comes_back(tmp_path):
    rng = np.random.default_rng(3)
    rng.random(7)
    back = there_and_back(rng.bit_generator.state, tmp_path / "file.npz")
    other = np.random.default_rng()
    other.bit_generator.state = back
    assert other.random() == rng.random()


def test_instances_come_back(tmp_path, registered):
    registered(Thing, Pair)
    thing = Thing(Pair(np.arange(3), [Thing(None)]))
    back = there_and_back(thing, tmp_path / "file.npz")
    assert type(back) is Thing
    assert type(back.needed) is Pair
    np.testing.assert_array_equal(back.needed.left, np.arange(3))
    assert back.needed.right[0].needed is None


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"bytes", Thing(1), np.array([None]), [lambda: 0]]
)
def test_other_types_are_refused(tmp_path, registered, value):
    registered(Pair)
    with pytest.raises(TypeError, match=r"cannot write a .* as plain arrays and JSON"):
        _serialization.save(tmp_path / "file.npz", value)
    assert not list(tmp_path.iterdir())


def test_classes_that_are_not_registered_are_refused(tmp_path, registered, monkeypatch):
    registered(Thing)
    _serialization.save(tmp_path / "file.npz", Thing(1))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="Thing"):
        _serialization.load(tmp_path / "file.npz")


def test_own_copy_shares_no_memory(registered):
    registered(Thing)
    array = np.arange(3.0)
    array.flags.writeable = False
    copy = _serialization.own_copy([Thing(array), None]).pop(0)
    np.testing.assert_array_equal(copy.needed, array)
    assert copy.needed.flags.writeable
    assert not np.shares_memory(copy.needed, array)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_pickles_are_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "file.npz", tree=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match=r"^file\.npz holds no plain arrays$"):
        _serialization.load(tmp_path / "file.npz")
    assert not (tmp_path / "exploded").exists()


def test_files_that_hold_no_arrays(tmp_path):
    """What numpy says of them may be how to read them all the same: nobody is to."""
    good, path = tmp_path / "good.npz", tmp_path / "file.npz"
    np.savez(good, a=np.arange(100.0))
    assert list(load_arrays(good)) == ["a"]
    contents = [b"", b"x", pickle.dumps(Bomb()), good.read_bytes()[:-50], good.read_bytes()[:50]]
    np.save(tmp_path / "one.npy", np.arange(3))
    contents.append((tmp_path / "one.npy").read_bytes())
    contents.append(good.read_bytes().replace(np.float64(3.0).tobytes(), np.float64(4.0).tobytes()))
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"^file\.npz holds no plain arrays$") as error:
            load_arrays(path)
        assert "".join(traceback.format_exception(error.value)).count("Error:") == 1


def test_files_that_cannot_be_read_say_why(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"file\.npz"):
        load_arrays(tmp_path / "file.npz")


def test_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    replace_file(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_file(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_old_parts_are_removed_and_young_ones_left(tmp_path):
    (tmp_path / "below").mkdir()
    parts = [tmp_path / "a.1.part", tmp_path / "below" / "b.2.part", tmp_path / "c.3.part"]
    for path in (*parts, tmp_path / "whole.npz"):
        path.touch()
        os.utime(path, (time.time() - 7200.0, time.time() - 7200.0))
    os.utime(parts[2])
    remove_parts(tmp_path)
    left = {path.name for path in tmp_path.rglob("*")}
    assert left == {"below", "c.3.part", "whole.npz"}
    assert is_part(parts[2])
