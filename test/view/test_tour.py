"""The tour through the joints' ranges, and what is said of a robot before it is shown."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest

from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model import expand
from robot_dynamics.model.load import load_urdf
from robot_dynamics.resources import resource
from robot_dynamics.view.subject import ArmOptions, arm_subject, description_text, without_masses
from robot_dynamics.view.tour import MARGIN, plan_tour
from robot_dynamics.view.tour_result import TourResult

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")


def puma():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_urdf(resource("urdf/puma560.urdf"))


def path_of(tour, samples=60):
    """Time, position, velocity and acceleration of rest-to-rest quintics, by polynomial algebra."""
    bend = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
    for begin, end, first, last in zip(
        tour.times, tour.times[1:], tour.positions, tour.positions[1:], strict=False
    ):
        for s in np.linspace(0.0, 1.0, samples):
            way, duration = last - first, end - begin
            yield (
                first + bend(s) * way,
                bend.deriv(1)(s) * way / duration,
                bend.deriv(2)(s) * way / duration**2,
            )


def test_a_tour_begins_and_ends_at_the_start_and_moves_every_joint():
    chain = puma()
    start = np.zeros(6)
    tour = plan_tour(chain, start, None)
    np.testing.assert_array_equal(tour.positions[0], start)
    np.testing.assert_array_equal(tour.positions[-1], start)
    assert (np.diff(tour.times) > 0.0).all()
    assert (np.ptp(tour.positions, axis=0) > 0.5).all()


def test_a_tour_keeps_position_and_speed_limits():
    chain = puma()
    tour = plan_tour(chain, np.zeros(6), None)
    for q, qd, _ in path_of(tour):
        for j in range(6):
            limits = chain.driving_joint(j).limits
            inside = MARGIN * (limits.upper - limits.lower) * 0.1
            assert limits.lower + inside <= q[j] <= limits.upper - inside
            assert abs(qd[j]) <= 0.5 * limits.velocity + 1e-9


def test_a_tour_keeps_effort_limits_by_pinocchios_account():
    chain = puma()
    dynamics = compile_dynamics(chain)
    tour = plan_tour(chain, np.zeros(6), dynamics.inverse_dynamics)
    model = pin.buildModelFromUrdf(str(resource("urdf/puma560.urdf")))
    data = model.createData()
    largest = np.max([np.abs(pin.rnea(model, data, q, qd, qdd)) for q, qd, qdd in path_of(tour)], axis=0)
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(6)])
    assert tour.weak == {} and (largest <= limits).all()


def pendulum(effort, inertial='<mass value="2"/><origin xyz="0.5 0 0"/>', extra=""):
    return f"""
<robot name="pendulum"><link name="base"/><link name="bob"><inertial>{inertial}
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>{extra}
  <joint name="swing" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
  <limit lower="-1.5" upper="1.5" effort="{effort}" velocity="2"/></joint></robot>"""


def test_a_joint_that_cannot_carry_its_load_is_named_with_what_it_takes():
    """m g l = 2 kg * 9.81 m/s² * 0.5 m where the bob is level, which it is at zero."""
    subject = arm_subject(pendulum(5.0), ArmOptions())
    assert subject.tour.weak == {"swing": pytest.approx(9.81, rel=0.02)}
    assert subject.max_effort() == [pytest.approx(19.62, rel=0.02)]
    assert any("effort limit of swing cannot carry" in note for note in subject.notes)
    assert arm_subject(pendulum(20.0), ArmOptions()).max_effort() == []


def test_an_effort_that_only_haste_asks_for_makes_the_tour_slower():
    strong = arm_subject(pendulum(1000.0), ArmOptions()).tour
    dynamics = compile_dynamics(load_urdf(pendulum(1000.0)))
    peak = max(abs(dynamics.inverse_dynamics(q, qd, qdd)[0]) for q, qd, qdd in path_of(strong))
    limited = arm_subject(pendulum(1.08 * peak), ArmOptions()).tour
    assert limited.weak == {} and limited.duration > strong.duration


@pytest.mark.parametrize(
    ("inertial", "reason"),
    [
        ('<mass value="-1"/>', "mass"),
        ('<mass value="0"/>', "moves an inertia of"),
    ],
)
def test_unusable_masses_are_said_and_the_robot_moves_without(inertial, reason):
    text = pendulum(5.0, inertial).replace('ixx="0.01" iyy="0.01" izz="0.01"', 'ixx="0" iyy="0" izz="0"')
    subject = arm_subject(text, ArmOptions())
    assert subject.kinematic and "<inertial" not in subject.text and subject.tour.weak == {}
    (note,) = [note for note in subject.notes if note.startswith("moved without masses")]
    assert reason in note


def test_a_robot_that_cannot_be_read_without_masses_either_is_refused():
    with pytest.raises(ModelError, match="mimics 'nobody'"):
        arm_subject(pendulum(5.0).replace("</joint>", '<mimic joint="nobody"/></joint>'), ArmOptions())


def test_friction_that_hides_the_inertia_is_left_out_and_said():
    """The bob's inertia about the joint is 0.01 + 2 kg * (0.5 m)² = 0.51 kg·m²."""
    limit = 20.0 * 0.51
    for value, left_out in ((0.99 * limit, False), (1.01 * limit, True)):
        dynamics = f'<dynamics damping="{value}" friction="0.0"/></joint>'
        subject = arm_subject(pendulum(500.0).replace("</joint>", dynamics), ArmOptions())
        assert any("the friction of swing is left out" in note for note in subject.notes) is left_out
        assert (subject.chain.driving_joint(0).damping == 0.0) is left_out


def test_friction_is_left_out_joint_by_joint():
    """A light finger on the bob loses its friction, the arm keeps its own."""
    finger = (
        '<dynamics damping="1.0"/></joint><link name="finger"><inertial><mass value="0.01"/>'
        '<inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="grip" type="revolute"><parent link="bob"/><child link="finger"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="50" velocity="2"/><dynamics damping="1.0"/></joint>'
    )
    subject = arm_subject(pendulum(500.0).replace("</joint>", finger), ArmOptions())
    assert [subject.chain.driving_joint(j).damping for j in (0, 1)] == [1.0, 0.0]
    assert any("the friction of grip is left out" in note for note in subject.notes)


def test_coulomb_friction_that_would_move_a_light_joint_behind_it_is_left_out():
    """A pendulum of 5 cm, 0.5 m below the arm's axis, gets 1 + 0.5 / 0.05 times the arm's acceleration."""
    light = (
        '<dynamics friction="{}"/></joint><link name="light"><inertial><origin xyz="0 0 -0.05"/>'
        '<mass value="0.001"/><inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial>'
        '</link><joint name="dangle" type="revolute"><parent link="bob"/><child link="light"/>'
        '<origin xyz="0 0 -0.5"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="50" velocity="2"/></joint>'
    )
    limit = 0.5 * 0.51 / 11.0
    for value, left_out in ((0.95 * limit, False), (1.05 * limit, True)):
        subject = arm_subject(pendulum(500.0).replace("</joint>", light.format(value)), ArmOptions())
        assert (subject.chain.driving_joint(0).friction == 0.0) is left_out


def test_all_limbs_move_without_a_tip_and_one_where_another_has_no_mass():
    other = (
        '<link name="weight"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>'
        '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="swing2" type="revolute"><parent link="base"/><child link="weight"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="50" velocity="2"/></joint></robot>'
    )
    text = pendulum(500.0).replace("</robot>", other)
    subject = arm_subject(text, ArmOptions())
    assert subject.chain.joint_names == ("swing", "swing2") and not subject.kinematic
    assert subject.chain_parameters()["tips"] == ["bob", "weight"]
    assert any("several limbs; --tip chooses one: bob, weight" in note for note in subject.notes)
    assert arm_subject(text, ArmOptions(tip="weight")).chain.joint_names == ("swing2",)
    massless = re.sub(r'(name="weight">).*?</inertial>', r"\1", text)
    subject = arm_subject(massless, ArmOptions())
    assert subject.chain.joint_names == ("swing",) and not subject.kinematic
    assert any("several limbs; --tip chooses another" in note for note in subject.notes)


def test_limits_that_leave_no_range_are_left_out_and_said():
    text = re.sub(r'lower="[^"]*" upper="[^"]*"', 'lower="0" upper="0"', pendulum(500.0))
    assert 'lower="0"' in text
    subject = arm_subject(text, ArmOptions())
    assert any("the limits of swing leave no range" in note for note in subject.notes)
    assert np.ptp(subject.tour.positions) > 1.0 and 'lower="0"' not in subject.text


def test_axes_of_massless_links_that_align_on_the_way_are_found():
    """A shoulder of three crossed axes whose links but the last weigh nothing locks at pitch = 90°."""
    joint = (
        '<link name="l{n}"/><joint name="j{n}" type="revolute"><parent link="{p}"/><child link="l{n}"/>'
        '<axis xyz="{axis}"/><limit lower="-1.6" upper="1.6" effort="100" velocity="5"/></joint>'
    )
    body = (
        '<inertial><mass value="2"/><origin xyz="0.1 0.1 0.3"/><inertia ixx="0.1" iyy="0.1" izz="0.1"'
        ' ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    parts = [
        joint.format(n=n, p=f"l{n - 1}", axis=axis) for n, axis in enumerate(("0 0 1", "0 1 0", "1 0 0"), 1)
    ]
    text = f'<robot name="r"><link name="l0"/>{"".join(parts)}</robot>'
    text = text.replace('<link name="l3"/>', f'<link name="l3">{body}</link>')
    subject = arm_subject(text, ArmOptions())
    assert subject.kinematic and any("joints of massless links align" in note for note in subject.notes)


def test_a_xacro_is_expanded_with_its_arguments(tmp_path):
    pytest.importorskip("xacro", reason="xacro is not installed")
    file = tmp_path / "arm.urdf.xacro"
    text = pendulum("$(arg effort)").replace(
        '<robot name="pendulum">',
        '<robot name="pendulum" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="effort" default="7"/>',
    )
    file.write_text(text, encoding="utf-8")
    assert 'effort="7"' in description_text(file, {})
    assert 'effort="30"' in description_text(file, {"effort": "30"})
    with pytest.raises(ModelError, match=r"has no argument 'efort'; did you mean effort\?"):
        description_text(file, {"efort": "30"})
    file.write_text("<robot><xacro:nonsense/></robot>", encoding="utf-8")
    with pytest.raises(ModelError, match="xacro does not understand"):
        description_text(file, {})


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "reason"),
    [("10**10**8", "not done after 1 s of processor time"), ("'a' * 10**10", "10.*: MemoryError")],
)
def test_what_a_xacro_computes_ends(tmp_path, monkeypatch, value, reason):
    pytest.importorskip("xacro", reason="xacro is not installed")
    monkeypatch.setattr(expand, "LONGEST", 1)
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        f'<robot name="${{{value}}}" xmlns:xacro="http://www.ros.org/wiki/xacro"/>', encoding="utf-8"
    )
    with pytest.raises(ModelError, match=f"xacro does not understand .*: .*{reason}"):
        description_text(file, {})


def test_a_plain_description_takes_no_arguments(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(pendulum(5.0), encoding="utf-8")
    with pytest.raises(ModelError, match=r"arm\.urdf is no xacro file: it takes no effort"):
        description_text(file, {"effort": "30"})


def test_entities_are_refused_before_anything_expands_them(tmp_path):
    file = tmp_path / "bomb.urdf"
    file.write_text('<!DOCTYPE r [<!ENTITY a "b">]><robot name="r"/>', encoding="utf-8")
    with pytest.raises(ModelError, match="entity declaration"):
        description_text(file, {})


def test_masses_are_taken_out_of_every_link():
    assert "inertial" not in without_masses(pendulum(5.0))
    with pytest.raises(ModelError, match="not well-formed"):
        without_masses("<robot>")


def verdict(**changed):
    values = {
        "robot": "r", "root": "base", "tip": "bob", "joints": ("a", "b"),
        "worst_tracking_error": {"a": 1e-5, "b": 9e-4}, "unmoved": (),
        "links_drawn": ("base",), "links_not_drawn": {"bob": "a frame"},
    }  # fmt: skip
    return TourResult(**{**values, **changed})


def test_the_verdict_names_what_failed():
    assert verdict().failure == "" and verdict().report()["verdict"] == "ok"
    off = verdict(worst_tracking_error={"a": 2e-3, "b": float("nan")})
    assert off.failure == "errors above 0.001: a 2.0e-03, b nan"
    assert verdict(unmoved=("b",)).failure == "did not move: b"
    report = json.loads(json.dumps(verdict(unmoved=("b",)).report()))
    assert list(report) == [
        "robot", "root", "tip", "joints", "worst_tracking_error", "links_drawn", "links_not_drawn", "verdict",
    ]  # fmt: skip
    assert report["verdict"] == "failed" and report["links_not_drawn"] == {"bob": "a frame"}


def test_a_heavy_payload_is_in_the_efforts_that_the_tour_keeps():
    text = resource("urdf/puma560.urdf").read_text()
    free, laden = (arm_subject(text, ArmOptions(payload=mass)) for mass in (0.0, 20.0))
    assert not free.tour.weak
    # With both links level joint 2 holds the payload at its greatest reach, above its limit of 186.4 N·m.
    assert laden.tour.weak["joint2"] > 186.4
    assert any("joint2 cannot carry" in note for note in laden.notes)
