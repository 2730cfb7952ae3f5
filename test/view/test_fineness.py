"""Pixels that a browser draws per pixel of the page, found from a picture beside wider controls."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("viser", reason="viser is not installed")
from robot_dynamics.view.browser.fineness import CONTROLS, LOOKS, PROBE, UNCHANGED, Fineness

PAGE = (1280, 756)


class Browser:
    """A browser whose picture takes what the controls leave, and reports it some looks late."""

    def __init__(self, density: float, late: int = 3, phone: bool = False) -> None:
        self.density, self.phone = density, phone
        self.controls = CONTROLS
        self._sizes = [self._picture()] * (late + 1)
        self.gui = SimpleNamespace(main_panel=SimpleNamespace(set_width=self._set_width))

    def _set_width(self, width: float) -> None:
        self.controls = width

    def _picture(self) -> tuple[int, int]:
        wide = PAGE[0] - (0 if self.phone else self.controls)
        return int(wide * self.density), int(PAGE[1] * self.density)

    def size(self) -> tuple[int, int]:
        self._sizes.append(self._picture())
        return self._sizes.pop(0)


def looked_at(browser, looks=LOOKS + 10):
    fineness = Fineness(browser)
    for _ in range(looks):
        fineness.look(*browser.size())
    return fineness


@pytest.mark.parametrize("density", [0.375, 0.75, 1.0, 1.25, 2.0, 3.0])
def test_it_is_found_and_the_controls_have_their_width_again(density):
    browser = Browser(density)
    fineness = looked_at(browser)
    assert fineness.value == pytest.approx(density, rel=0.05)
    assert browser.controls == CONTROLS
    assert fineness.room == UNCHANGED
    assert Fineness(browser).spare == PROBE and fineness.spare == 0


def test_a_browser_that_draws_coarser_is_followed_and_a_resized_window_is_not():
    browser = Browser(1.0)
    fineness = looked_at(browser)
    browser.density = 0.75
    for _ in range(10):
        fineness.look(*browser.size())
    assert fineness.value == pytest.approx(0.75, rel=0.01)
    browser.controls = 100
    for _ in range(10):
        fineness.look(*browser.size())
    assert fineness.value == pytest.approx(0.75, rel=0.01)


def test_a_phone_without_controls_beside_the_picture_counts_as_one():
    fineness = looked_at(Browser(2.0, phone=True))
    assert fineness.value == 1.0
    assert fineness.room == UNCHANGED


def test_a_picture_that_changes_otherwise_is_probed_again():
    browser = Browser(1.0)
    fineness = Fineness(browser)
    for number in range(40):
        if number == 5:
            browser.density = 0.875
        fineness.look(*browser.size())
    assert fineness.value == pytest.approx(0.875, rel=0.05)


@pytest.mark.parametrize("density", [0.375, 0.75, 2.0])
@pytest.mark.parametrize("comes", [6, 8, 10])
def test_controls_that_come_while_it_is_probed_count_for_nothing(density, comes):
    browser = Browser(density, phone=True)
    fineness = Fineness(browser)
    for number in range(80):
        browser.phone = number < comes
        fineness.look(*browser.size())
    assert fineness.value == pytest.approx(density, rel=0.05)
    assert browser.controls == CONTROLS
