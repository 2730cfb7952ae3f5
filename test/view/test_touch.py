"""Contact and parameters on the page of the web view, with viser's server and without a browser."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from transforms3d.quaternions import mat2quat

viser = pytest.importorskip("viser", reason="viser is not installed")

from robot_dynamics.resources import resource  # noqa: E402
from robot_dynamics.view.browser.panel import Actions, ControllerPanel  # noqa: E402
from robot_dynamics.view.browser.stiffness import StiffnessSliders, parts_of, scaled  # noqa: E402
from robot_dynamics.view.browser.touch import Touch, nearest_link  # noqa: E402
from robot_dynamics.view.robot_geometry import read_robot  # noqa: E402
from robot_dynamics.view.samples import StateSample  # noqa: E402
from robot_dynamics.view.setting import Setting  # noqa: E402


@pytest.fixture(scope="module")
def touch():
    pushes, targets = [], []
    server = viser.ViserServer(port=0, verbose=False)
    tab = server.gui.add_tab_group().add_tab("Touch")
    set_ = []
    idle = dict.fromkeys(("send", "hold", "reset", "reset_fault"), lambda *_: None)
    actions = Actions(
        **idle, set=set_.append, push=lambda *given: pushes.append(given), target=targets.append
    )
    made = Touch(server, tab, actions)
    geometry = read_robot(resource("urdf/puma560.urdf").read_text(encoding="utf-8"), None, lambda _: None)
    made.show(geometry)
    panel = ControllerPanel(server, tab, actions)
    yield SimpleNamespace(
        touch=made, geometry=geometry, pushes=pushes, targets=targets, panel=panel, set=set_
    )
    server.stop()


def shown(rig, wrench=None):
    position = {f"joint{k}": 0.1 * k for k in range(1, 7)}
    poses = rig.geometry.link_poses(position)
    sample = StateSample(0.0, position, externals={"joint2": 30.0}, wrench=wrench)
    rig.touch.update(sample, poses, True)
    return poses


def test_external_efforts_are_arcs_within_and_the_force_at_the_tip_ends_in_it(touch):
    poses = shown(touch, ("link6", np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])))
    visible = [name for name, gauge in touch.touch._gauges.items() if gauge.visible]
    assert visible == ["joint2"]
    start, end = touch.touch._arrow.points[0]
    np.testing.assert_allclose(end, poses["link6"][:3, 3], atol=1e-6)
    np.testing.assert_allclose(end - start, 0.2 * poses["link6"][:3, 2], atol=1e-6)
    shown(touch, ("link6", np.zeros(6)))
    assert not touch.touch._arrow.visible


def test_a_click_pushes_the_nearest_link_along_the_ray_and_none_beside_the_arm(touch):
    poses = shown(touch)
    [weight] = [one for one in touch.geometry.weights if one.link == "link3"]
    middle = poses["link3"][:3, :3] @ weight.center_of_mass + poses["link3"][:3, 3]
    ray = np.array([-1.0, 0.5, -0.2]) / np.linalg.norm([-1.0, 0.5, -0.2])
    touch.touch._push(SimpleNamespace(ray_origin=middle - 2.0 * ray, ray_direction=ray))
    link, wrench = touch.pushes[-1]
    assert link == "link3"
    np.testing.assert_allclose(wrench[:3], 30.0 * ray, atol=1e-9)
    lever = middle - poses["link3"][:3, 3]
    np.testing.assert_allclose(wrench[3:], np.cross(lever, wrench[:3]), atol=1e-6)
    count = len(touch.pushes)
    touch.touch._push(
        SimpleNamespace(
            ray_origin=middle + np.array([0.0, 0.0, 50.0]), ray_direction=np.array([1.0, 0.0, 0.0])
        )
    )
    assert len(touch.pushes) == count
    assert nearest_link(poses, {}, middle, ray, 1.0) is None


def test_the_target_frame_begins_at_the_tip_and_sends_where_it_is_dragged(touch):
    poses = shown(touch, ("link6", np.zeros(6)))
    touch.touch._dragging.value = True
    touch.touch._offer(True)
    frame = touch.touch._frame
    assert frame.visible
    np.testing.assert_allclose(frame.position, poses["link6"][:3, 3], atol=1e-6)
    frame.position = np.array([0.4, 0.1, 0.5])
    touch.touch._sent = 0.0
    touch.touch._drag(ends=False)
    pose = touch.targets[-1]
    np.testing.assert_allclose(pose[:3, 3], [0.4, 0.1, 0.5])
    np.testing.assert_allclose(abs(mat2quat(pose[:3, :3]) @ mat2quat(poses["link6"][:3, :3])), 1.0, atol=1e-6)


def test_the_place_where_a_drag_ends_is_sent_however_soon_it_comes(touch):
    frame = touch.touch._frame
    touch.touch._dragging.value = True
    frame.position = np.array([0.4, 0.1, 0.5])
    touch.touch._sent, count = np.inf, len(touch.targets)
    [moved] = frame._impl_aux.update_cb
    moved(SimpleNamespace(target=frame, phase="update"))
    assert len(touch.targets) == count
    frame.position = np.array([0.45, 0.1, 0.5])
    moved(SimpleNamespace(target=frame, phase="end"))
    assert len(touch.targets) == count + 1
    np.testing.assert_allclose(touch.targets[-1][:3, 3], [0.45, 0.1, 0.5])


def test_typed_parameters_stay_until_they_are_applied_and_the_others_follow_the_controller(touch):
    def fields(kp, mass):
        touch.panel.show([Setting("kp", kp), Setting("payload_mass", mass)])
        return {name: field.value for name, field in touch.panel._fields.items()}

    assert fields("100", "0") == {"kp": "100", "payload_mass": "0"}
    touch.panel._fields["kp"].value = "120"
    assert fields("100", "2") == {"kp": "120", "payload_mass": "2"}
    touch.panel._set()
    assert touch.set == [{"kp": "120"}]
    assert fields("100", "2") == {"kp": "100", "payload_mass": "2"}  # it was refused


def test_sliders_of_stiffness_scale_their_values_and_send_the_last_one():
    sent, done = [], threading.Event()
    server = viser.ViserServer(port=0, verbose=False)
    try:
        tab = server.gui.add_tab_group().add_tab("Controller")
        sliders = StiffnessSliders(server, tab, lambda texts: (sent.append(dict(texts)), done.set()))
        sliders.show({"joint_stiffness": "100 50", "cartesian_stiffness": "400 30", "kp": "100"})
        joints, linear, _ = sliders._sliders.values()
        assert (joints.value, linear.value) == (100.0, 400.0)
        for value in (80.0, 60.0):
            sliders._moved(
                SimpleNamespace(client_id=0, target=SimpleNamespace(value=value)),
                *next(iter(sliders._sliders)),
            )
        assert done.wait(60.0) and sent == [{"joint_stiffness": "60 30"}]
        sliders.show({"joint_stiffness": "60 30", "cartesian_stiffness": "4000 30"})
        assert (joints.value, linear.value, linear.max) == (60.0, 4000.0, 4000.0)
        sliders.show({})
        assert not sliders._sliders
        assert scaled([0.0, 30.0], parts_of("cartesian_stiffness", 2)[0], 7.0) == [7.0, 30.0]
    finally:
        server.stop()
