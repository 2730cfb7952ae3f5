"""The page about controllers without ROS tells what is true."""

import re
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.resources import resource

PAGE = Path(__file__).resolve().parents[2] / "docs/how_to/controllers_without_ros.md"


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_planning_beside_the_loop_is_as_the_page_says():
    chain = rd.load_urdf(resource("urdf/scara.urdf"))
    controller = rd.ArmController(chain)
    rest = np.zeros(chain.dof)
    controller.update(0.0, rest, rest)
    given = {"controller": controller, "chain": chain, "rd": rd, "goal": rest + 0.25}
    exec(blocks()[1], given)
    assert given["discarded"] == ""
    assert given["planned"].trajectory.start == pytest.approx(0.05)
    assert controller.update(0.04, rest, rest).reference.position == pytest.approx(rest)
    controller.update(0.3, rest, rest)
    assert controller.update(0.55, rest, rest).reference.position == pytest.approx(rest + 0.025)
    exec(blocks()[1].split("discarded")[0] + "controller.hold()\n", given)
    assert "a hold" in controller.accept(given["planned"])
