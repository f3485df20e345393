"""Makes the modules of the lab importable."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "lab"))
pytest.register_assert_rewrite("watched")
