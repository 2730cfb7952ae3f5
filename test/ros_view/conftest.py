"""Tests that look at pages need a Chromium of the system and both cores: ``make test-browser`` runs them."""

import pytest
from chromium import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium(1300, 820) as driver:
        yield driver


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if {"browser", "live"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("browser")
