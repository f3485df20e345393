"""Second versions of nginx and Caddy, which only --all tests."""

import pytest
from support import KINDS


def one_each(names, forms=("",)):
    """The parameters of a test, each name in each form. Second versions are marked `long`."""
    every = [(name, f"{name}{form}") for name in names for form in forms]
    return [shown if name == KINDS[name].snippet else pytest.param(shown, marks=pytest.mark.long) for name, shown in every]
