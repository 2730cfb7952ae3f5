"""The demonstration with its page, watched in a headless Chromium from its start to its verdict."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from chromium import chromium
from patience import LONG_PATIENCE, POLL

pytest.importorskip("viser", reason="viser is not installed")
pytestmark = [pytest.mark.ros, pytest.mark.browser]

MOVED = 0.01
"""Share of the picture that a motion changes at least."""
WITNESS = """
// From the page's first moment on: how a machine's first slider and the picture change. A busy machine may
// draw a few times during a motion, and answer no question in the meantime.
window.seen = {joint1: {values: []}, x: {values: []}, together: false};
const context = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, options) {
  const kept = kind.startsWith('webgl') ? {...options, preserveDrawingBuffer: true} : options;
  return context.call(this, kind, kept);
};
function slider(name) {
  let at = [...document.querySelectorAll('label')].find(e => e.textContent.startsWith(name + ' '));
  while (at && !at.querySelector('[role=slider]')) at = at.parentElement;
  return at ? at.querySelector('[role=slider]').getAttribute('aria-valuenow') : null;
}
function picture() {
  const small = Object.assign(document.createElement('canvas'), {width: 160, height: 120});
  const all = [...document.querySelectorAll('canvas')];
  const paint = small.getContext('2d');
  paint.drawImage(all.sort((a, b) => b.width * b.height - a.width * a.height)[0], 0, 0, 160, 120);
  return paint.getImageData(0, 0, 160, 120).data;
}
function difference(one, other) {
  let count = 0;
  for (let i = 0; i < one.length; i += 4)
    count += Math.max(...[0, 1, 2].map(k => Math.abs(one[i + k] - other[i + k]))) > 30;
  return 4 * count / one.length;
}
setInterval(() => {
  const values = {joint1: slider('joint1'), x: slider('x')};
  seen.together ||= values.joint1 !== null && values.x !== null;
  for (const [name, value] of Object.entries(values)) {
    if (value === null) continue;
    const half = seen[name], last = half.values.at(-1);
    if (value !== last) half.values.push(value);
    if (half.values.length < 2) half.before = picture();  // the machine has not moved yet
    else half.changed = Math.max(half.changed || 0, difference(half.before, picture()));
  }
}, 100);
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
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WITNESS})
        driver.get(found[1])
        code = demonstration.finish()
        seen = driver.execute_script("return seen")
    output = demonstration.output
    assert code == 0, output
    # The same tab: it has found the platform by itself, though its window does not have the keyboard.
    for slider in ("joint1", "x"):
        assert len(seen[slider]["values"]) > 1, f"the sliders do not follow {slider}; the output:\n{output}"
        assert seen[slider]["changed"] > MOVED, f"{slider} does not move on the page"
    assert not seen["together"]
    assert "tracking: as good as it has to be" in output and "Traceback" not in output
    assert "shown at a speed, of real time" in output
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["passed"] is True and report["watched"] is True
    assert report["runs"]["computed_torque"]["largest_error"] < 1e-4
    assert report["platform"]["largest_position_error_m"] < 2e-4
    assert 0.02 < max(map(abs, report["yields"]["way"])) < 0.1 and "joints as springs: 2 kg move" in output
    assert set(report["real_time_share"]) == {"arm", "platform"}
    assert all(0.0 < share < 1.2 for share in report["real_time_share"].values())
