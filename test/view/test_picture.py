"""The scene of one robot, in a real server without a browser."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")
import viser
from ros_harness import free_port

from robot_dynamics.view.browser.panel import Actions, ControllerPanel
from robot_dynamics.view.browser.picture import MOST_NUMBERS, Picture, Shown
from robot_dynamics.view.labels import Viewpoint
from robot_dynamics.view.robot_geometry import read_robot
from robot_dynamics.view.samples import StateSample
from robot_dynamics.view.setting import Setting

COUNT = 12
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="l{{0}}"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
JOINT = (
    '<joint name="j{0}" type="revolute"><parent link="l{1}"/><child link="l{0}"/><origin xyz="0 0 0.2"/>'
    '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>'
)
SNAKE = "".join(
    ['<robot name="snake">', LINK.format(0)]
    + [LINK.format(k) + JOINT.format(k, k - 1) for k in range(1, COUNT + 1)]
    + ["</robot>"]
)


def test_the_most_loaded_joints_have_numbers():
    server = viser.ViserServer(host="127.0.0.1", port=free_port(), verbose=False)
    try:
        picture = Picture(server, read_robot(SNAKE), np.array([0.0, 0.0, -9.81]), simple=True)
        joints = [f"j{k}" for k in range(1, COUNT + 1)]
        efforts = dict(zip(joints, np.linspace(-9.0, 2.0, COUNT).tolist(), strict=True))
        picture.update(StateSample(0.0, dict.fromkeys(joints, 0.1), efforts), {}, Shown())
        numbered = {name for name, gauge in picture._gauges.items() if gauge._label.text}
        assert numbered == {f"j{k}" for k in range(1, MOST_NUMBERS + 1)}
        far = np.diag([1.0, -1.0, -1.0, 1.0])
        far[2, 3] = 100.0  # from above all joints are at one place
        picture.look_from(Viewpoint(far, 500.0))
        picture.update(StateSample(0.1, dict.fromkeys(joints, 0.0), efforts), {}, Shown())
        numbered = {name for name, gauge in picture._gauges.items() if gauge._label.text}
        assert numbered == {"j1"}
    finally:
        server.stop()


def test_what_is_typed_after_apply_stays():
    server = viser.ViserServer(host="127.0.0.1", port=free_port(), verbose=False)
    try:
        sent = []
        actions = Actions(**{**dict.fromkeys(Actions.__dataclass_fields__), "set": sent.append})
        panel = ControllerPanel(server, server.gui.add_tab_group().add_tab("Controller"), actions)
        panel.show([Setting("payload_mass", "0")])
        field = panel._fields["payload_mass"]
        field.value = "0.1"
        panel._set()
        assert sent == [{"payload_mass": "0.1"}]
        field.value = "-1"
        panel.show([Setting("payload_mass", "0.1")])
        assert field.value == "-1", "the report of the value before must not replace it"
        panel._set()
        panel.show([Setting("payload_mass", "0.1")])
        assert field.value == "0.1", "a refused value goes back"
    finally:
        server.stop()
