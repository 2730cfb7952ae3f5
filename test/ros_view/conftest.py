"""Tests that look at pages need a Chromium of the system and both cores: ``make test-browser`` runs them."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if {"browser", "live"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("browser")
