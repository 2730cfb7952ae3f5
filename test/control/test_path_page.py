"""The page of a verified path, without a browser: its slider, red where a limit is exceeded."""

import numpy as np
import pytest
from arms import TWO_JOINTS as URDF
from ros_harness import free_port

pytest.importorskip("viser", reason="viser serves the page")
from robot_dynamics.cli import main as command
from robot_dynamics.cli import path_view
from robot_dynamics.view.browser.path_page import PathPage

FAST = "time,lift,turn\n0,0,0\n2,0.2,0\n2.2,1.2,0\n4,1.3,0\n"
"""Joint "lift" is too fast after two seconds, and within its limits at the ends."""


@pytest.fixture
def page(tmp_path, monkeypatch, capsys):
    """The page that ``check --view`` serves, and the command's exit code."""
    seen = []

    class Served(PathPage):
        def play(self, elapsed):
            self.jump()
            seen.append((float(self.slider.value), self._red.visible, dict(self.notices._texts)))
            self.show(float(self._samples.times[-1]))
            seen.append((self._red.visible, dict(self.notices._texts)))
            seen.append(self._samples)
            raise KeyboardInterrupt

    monkeypatch.setattr("robot_dynamics.view.browser.path_page.PathPage", Served)
    urdf, path = tmp_path / "crane.urdf", tmp_path / "fast.csv"
    urdf.write_text(URDF)
    path.write_text(FAST)
    options = ["--view", "--no-browser", "--port", str(free_port())]
    code = command.main(["check", str(urdf), str(path), *options])
    return code, capsys.readouterr().err, *seen


def test_the_slider_shows_the_arm_red_where_a_limit_is_exceeded(page):
    code, said, (jumped, red, notices), (still_red, later), samples = page
    assert code == 1 and "http://127.0.0.1:" in said
    # The button leads to where limits begin to be exceeded.
    assert jumped == samples.stretches[0][0] > 1.0 and red and "lift: " in notices["here"][1]
    assert notices["verdict"][0] == "error"
    assert not still_red and "here" not in later
    assert samples.times[samples.beyond].max() < 3.5
    # The worst values of the table are among the samples.
    assert samples.shares[1].max() > 2.0
    assert np.all(np.diff(samples.times) > 0.0) and len(samples.times) >= path_view.SAMPLES
