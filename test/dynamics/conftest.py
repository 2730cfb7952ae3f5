"""Fixtures of the dynamics tests."""

from pathlib import Path

import pytest


@pytest.fixture
def own_urdf() -> Path:
    """The PUMA 560 that is shipped with the package."""
    return Path(__file__).parents[2] / "urdf" / "puma560.urdf"
