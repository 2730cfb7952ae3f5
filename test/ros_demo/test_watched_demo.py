"""The demonstration with its page, watched in a headless Chromium from its start to its verdict."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from chromium import chromium, pixels
from patience import LONG_PATIENCE, POLL

pytest.importorskip("viser", reason="viser is not installed")
pytestmark = [pytest.mark.ros, pytest.mark.browser]

MOVED = 0.01
"""Share of the picture that a motion changes at least."""
SLIDER_VALUE = """
let at = [...document.querySelectorAll('label')].find(e => e.textContent.startsWith(arguments[0]));
while (at && !at.querySelector('[role=slider]')) at = at.parentElement;
return at ? at.querySelector('[role=slider]').getAttribute('aria-valuenow') : null;
"""


class Demonstration:
    """The command as a process, and what it has printed so far."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "robot_dynamics.cli.main", "demo", "--view", "--output", str(folder)]
        # It opens the user's browser, which here is a program that does nothing.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "BROWSER": "true", "PYTHONUNBUFFERED": "1"},
        )
        self.output = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.output += line

    def wait_for(self, condition, what):
        deadline = time.monotonic() + LONG_PATIENCE
        while not (value := condition()):
            assert time.monotonic() < deadline, f"{what}; the output:\n{self.output}"
            assert self.process.poll() is None, f"{what}, but it has ended; the output:\n{self.output}"
            time.sleep(POLL)
        return value

    def finish(self):
        code = self.process.wait(LONG_PATIENCE)
        self._reader.join(LONG_PATIENCE)
        return code


@pytest.fixture
def demonstration(tmp_path):
    running = Demonstration(tmp_path)
    yield running
    if running.process.poll() is None:
        running.process.terminate()
        running.finish()


def test_the_page_shows_both_halves_and_the_demonstration_ends_with_its_verdict(demonstration, tmp_path):
    with chromium(1000, 480) as driver:
        wait_for = demonstration.wait_for
        found = wait_for(
            lambda: re.search(r"the arm is shown at (http://\S+)", demonstration.output), "no page"
        )
        driver.get(found[1])

        def value(slider):
            """What a slider says; None when it is not on the page."""
            return driver.execute_script(SLIDER_VALUE, f"{slider} ")

        def watch_motion(slider, what):
            """The slider follows the machine, and the picture changes."""
            wait_for(lambda: value(slider) is not None, f"the page does not show {what}")
            began, before = value(slider), pixels(driver)
            wait_for(lambda: value(slider) not in (None, began), f"the sliders do not follow {what}")
            wait_for(
                lambda: (np.abs(pixels(driver) - before).max(axis=2) > 30).mean() > MOVED,
                f"{what} does not move on the page",
            )

        watch_motion("joint1", "the arm")
        wait_for(lambda: "the platform is shown at" in demonstration.output, "no second half")
        # The same tab: it has found the platform by itself.
        watch_motion("x", "the platform")
        assert value("joint1") is None
        code = demonstration.finish()
    output = demonstration.output
    assert code == 0, output
    assert "tracking: as good as it has to be" in output and "Traceback" not in output
    assert "shown at a speed, of real time" in output
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["passed"] is True and report["watched"] is True
    assert report["runs"]["computed_torque"]["largest_error"] < 1e-4
    assert report["platform"]["largest_position_error_m"] < 2e-4
    assert set(report["real_time_share"]) == {"arm", "platform"}
    assert all(0.0 < share < 1.2 for share in report["real_time_share"].values())
