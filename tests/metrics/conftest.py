"""Assertions of the suite's modules say what they compare."""

import pytest

pytest.register_assert_rewrite("watched")
