"""Second versions of nginx and Caddy: attacks are tried on all versions, and everything else on one, except with --all."""

import pytest
from support import KINDS


def one_each(names):
    """The parameters of a test, in which second versions are marked `long`."""
    return [name if name == KINDS[name].snippet else pytest.param(name, marks=pytest.mark.long) for name in names]
