"""What all tests share: the list of what may be skipped is kept."""

import pytest
from skip_guard import SkipGuard, required_features
from skips import SKIPS


def pytest_configure(config: pytest.Config) -> None:
    """Watch every test from its collection on, in each process that runs tests."""
    config.pluginmanager.register(SkipGuard(SKIPS, required_features()), "skip_guard")
