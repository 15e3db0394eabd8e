"""The public interface, frozen: a change of it is a decision, and comes with a change here.

`tests/project/public_interface.txt` has a line for every public module, function, class, parameter
of a constructor and method. To write it anew: `python tests/project/test_public_interface.py`.
"""

import importlib
import inspect
from pathlib import Path

LIST = Path(__file__).with_name("public_interface.txt")
MODULES = [
    "skgpmcmc",
    "skgpmcmc.comparison",
    "skgpmcmc.core",
    "skgpmcmc.datasets",
    "skgpmcmc.diagnostics",
    "skgpmcmc.displays",
    "skgpmcmc.exceptions",
    "skgpmcmc.likelihoods",
    "skgpmcmc.point_patterns",
    "skgpmcmc.updates",
]
# Of scikit-learn, which decides about them; they differ between its versions.
INHERITED = ("sklearn", "builtins", "collections")
# Public themselves: what they define is listed once.
BASES = {"Likelihood", "Observations", "Bernoulli", "BernoulliLogit", "SiteLikelihood"}


def signature(function):
    """Return names and kinds of parameters, and defaults where they are plain."""
    parts, seen_star = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        text = prefix.get(parameter.kind, "") + parameter.name
        if parameter.default is not parameter.empty:
            plain = getattr(parameter.default, "__name__", repr(parameter.default))
            text += f"={plain}"
        parts.append(text)
    return ", ".join(parts)


def public_methods(cls):
    """Yield name and object of what a class, and bases that are not public, define."""
    for name in sorted(dir(cls)):
        value = inspect.getattr_static(cls, name)
        owner = next(base for base in cls.__mro__ if name in vars(base))
        is_inherited = owner is not cls and owner.__name__ in BASES
        is_parameter = name in getattr(cls, "__dataclass_fields__", ())  # of the constructor
        is_foreign = owner.__module__.startswith(INHERITED)
        if not (name.startswith("_") or is_inherited or is_foreign or is_parameter):
            yield name, value


def lines_of(module_name):
    """Yield a line for everything public in a module."""
    module = importlib.import_module(module_name)
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module_name
    ]  # fmt: skip
    for name in sorted(names):
        value, full = getattr(module, name), f"{module_name}.{name}"
        if inspect.isclass(value):
            yield f"{full}({signature(value) if '__init__' in vars(value) else '...'})"
            for method, member in public_methods(value):
                function = getattr(member, "__func__", member)
                is_callable = inspect.isfunction(function)
                yield f"{full}.{method}" + (f"({signature(function)})" if is_callable else "")
        elif inspect.isfunction(value):
            yield f"{full}({signature(value)})"
        else:
            yield full


def interface():
    """Return all lines."""
    return [line for module in MODULES for line in lines_of(module)]


def test_nothing_public_has_changed_by_accident():
    assert LIST.read_text(encoding="utf-8").splitlines() == interface()


if __name__ == "__main__":
    LIST.write_text("\n".join(interface()) + "\n", encoding="utf-8")
