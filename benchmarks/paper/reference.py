"""Posterior means and standard deviations that other packages found, and their errors."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "NumPyro 0.22, PyMC 5.28/nutpie, GPstuff"


@dataclass(frozen=True)
class Reference:
    """Marginal posteriors of one problem.

    Attributes
    ----------
    n_effective : float
        Smallest effective sample size of the run that mixed best among the packages: its
        rate by the time its draws took. It bounds their Monte Carlo error from above.
    values : dict
        Quantity -> mean and standard deviation, as printed: the number of decimals of the
        mean gives its rounding error.
    """

    n_effective: float
    values: dict[str, tuple[str, str]]

    def moments(self, quantity: str) -> tuple[float, float, float, float]:
        """Return mean, its standard error, standard deviation, and its standard error."""
        mean, sd = self.values[quantity]
        error = float(sd) / self.n_effective**0.5
        return (
            float(mean),
            (error**2 + _rounding_variance(mean)) ** 0.5,
            float(sd),
            (0.5 * error**2 + _rounding_variance(sd)) ** 0.5,
        )


def _rounding_variance(printed: str) -> float:
    """Return the variance of a uniform error of half a unit in the last decimal."""
    unit: float = 10.0 ** -len(printed.partition(".")[2])
    return unit**2 / 12.0


_SYNTHETIC_LENGTH_SCALES = [
    ("1.14", "0.48"),
    ("0.12", "0.23"),
    ("1.59", "0.45"),
    ("0.76", "0.33"),
    ("1.80", "0.37"),
    ("1.89", "0.30"),
    ("-1.51", "0.11"),
    ("0.12", "0.20"),
    ("1.15", "0.46"),
    ("-0.63", "0.15"),
]

REFERENCES = {
    # NumPyro: 1000 draws, 63 gradients each of 3.3 ms, 1.19 effective samples a second.
    "ionosphere": Reference(
        1000 * 63 * 3.3e-3 * 1.19,
        {
            "log_variance": ("4.14", "0.39"),
            "log_length_scale[0]": ("1.02", "0.90"),
            "log_length_scale[2]": ("1.08", "0.71"),
            "log_length_scale[4]": ("-1.04", "0.35"),
            "log_length_scale[5]": ("1.44", "0.58"),
        },
    ),
    # NumPyro: 1000 draws, 13.8 gradients each of 3.0 ms, 9.3 effective samples a second.
    "synthetic": Reference(
        1000 * 13.8 * 3.0e-3 * 9.3,
        {"log_variance": ("0.30", "0.30")}
        | {f"log_length_scale[{d}]": pair for d, pair in enumerate(_SYNTHETIC_LENGTH_SCALES)},
    ),
    # nutpie: 2000 draws, 25 gradients each of 0.54 ms, 2.9 effective samples a second.
    "mining": Reference(
        2000 * 25 * 0.54e-3 * 2.9,
        {
            "log_variance": ("-0.2", "0.87"),
            "log_length_scale": ("2.88", "0.49"),
            "mean": ("0.29", "0.6"),
        },
    ),
    # nutpie: 222 draws, 15 gradients each of 77 ms, 0.094 effective samples a second.
    "redwoods": Reference(
        222 * 15 * 77e-3 * 0.094,
        {
            "log_variance": ("0.2", "0.24"),
            "log_length_scale[0]": ("-3.57", "0.26"),
            "log_length_scale[1]": ("-3.26", "0.22"),
            "mean": ("-1.80", "0.17"),
        },
    ),
}
