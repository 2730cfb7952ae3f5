"""Hand guiding: an arm in MuJoCo that somebody moves while a hold-to-run button is pressed."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import READY, ArmLoop

import robot_dynamics as rd
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import ParameterError, TrajectoryError

FRICTION = {"friction": (8.0, 8.0, 6.0, 1.0, 1.0, 1.0), "damping": (4.0, 4.0, 3.0, 0.5, 0.5, 0.5)}
STEP = 2.0 * np.pi / 2**17


class Guided(ArmLoop):
    """An arm in the mode hand_guiding, whose button is pressed or not.

    Attributes:
        pressed: whether the button is.
    """

    def __init__(self, start=READY, pressed=True, real=None, **parameters):
        rotors = {"rotor_inertia": (0.2,) * 6}
        declared = FRICTION | rotors
        super().__init__(
            "ur5",
            start,
            declared=declared,
            real=(real or FRICTION) | rotors,
            mode="hand_guiding",
            **parameters,
        )
        self.pressed = pressed
        self.run(0.02)

    def step(self):
        if self.pressed and self.cycle % 20 == 1:
            assert self.control.guide(True) == ""
        super().step()


def pushed(loop, push):
    loop.disturbance = lambda time, effort: effort + np.asarray(push, dtype=float)


def test_at_rest_it_stays_with_steps_of_encoders_and_less_friction_than_declared():
    """Neither a drift nor a limit cycle, with a model of the weight that is a little off."""
    loop = Guided(real={name: tuple(0.7 * np.array(values)) for name, values in FRICTION.items()})
    past = []

    def encoders(q, qd):
        place = STEP * np.round(q / STEP + 0.5 * np.sin(37.0 * loop.cycle + np.arange(6)))
        past.append(place)
        return place, (place - past[-2]) / loop.period if len(past) > 1 else 0.0 * place

    loop.measure = encoders
    pushed(loop, (0.0, 1.0, 1.0, 0.1, 0.1, 0.0))
    loop.run(4.0)
    assert loop.phases[-1] is Phase.GUIDED
    assert np.abs(loop.positions[1000:] - loop.positions[1000]).max() < 2e-3
    assert np.abs(loop.velocities[1500:]).max() < 0.02


def test_a_hand_feels_the_rest_of_the_friction_and_a_wall_at_the_speed_limit():
    """Balance: push = (1 - c) (Coulomb + viscous friction) + M (0.5/s qd + qdd)."""
    loop = Guided(start=(0.0, -1.2, 1.6, -1.9, -1.57, 0.3))
    pushed(loop, (9.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    loop.run(0.3)
    assert loop.velocities[-1, 0] > 0.1  # a joint at rest has all its dry friction
    pushed(loop, (3.5, 0.0, 0.0, 0.0, 0.0, 0.0))
    loop.run(2.0)
    speed = loop.velocities[-1, 0]
    left = 0.3 * (8.0 + 4.0 * speed)
    inertia = loop.control.dynamics.links.mass_matrix(loop.plant.position)[0, 0] + 0.2
    acceleration = (speed - loop.velocities[-2, 0]) / loop.period
    assert 3.5 - left == pytest.approx(inertia * (0.5 * speed + acceleration), rel=0.02)
    assert 0.2 < speed < 0.25 * loop.limits[0]
    pushed(loop, (60.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    loop.run(1.0)
    assert 0.25 * loop.limits[0] < loop.velocities[-1, 0] < 0.3 * loop.limits[0] + 60.0 / (40.0 * inertia)
    assert loop.trip is None


def test_a_joint_that_is_pushed_at_its_limit_stops_before_it():
    loop = Guided(start=(0.0, -1.2, 2.9, -1.9, -1.57, 0.3))
    highest = loop.chain.driving_joint(2).limits.upper
    pushed(loop, (0.0, 0.0, 25.0, 0.0, 0.0, 0.0))
    loop.run(4.0)
    assert highest - 0.06 < loop.plant.position[2] < highest
    assert abs(loop.velocities[-1, 2]) < 1e-3


def test_the_arm_holds_when_the_button_is_released_or_no_longer_repeated():
    loop = Guided()
    pushed(loop, (30.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    loop.run(0.8)
    assert loop.velocities[-1, 0] > 0.3 and loop.phases[-1] is Phase.GUIDED
    loop.pressed = False
    loop.run(0.5)
    at = loop.positions[-1, 0]
    assert loop.phases[-1] is not Phase.GUIDED
    loop.run(1.0)
    assert loop.phases[-1] is Phase.HOLDING
    assert abs(loop.positions[-1, 0] - at) < 0.05 and abs(loop.velocities[-1, 0]) < 1e-3
    loop.pressed = True
    loop.run(0.3)
    assert loop.phases[-1] is Phase.GUIDED
    loop.pressed = False
    loop.control.guide(False)
    loop.step()
    assert loop.phases[-1] is Phase.STOPPING
    guided = np.array([phase is Phase.GUIDED for phase in loop.phases])
    changes = 1 + np.flatnonzero(guided[1:] != guided[:-1])
    steps = np.abs(np.diff(loop.efforts, axis=0))[changes[1:] - 1]
    assert len(steps) == 3 and steps.max() < 3.0


def test_a_button_that_stays_pressed_after_a_stop_does_not_guide():
    loop = Guided()
    loop.run(0.2)
    loop.control.emergency_stop()
    loop.run(0.5)
    assert loop.phases[-1] is Phase.PROTECTIVE_STOP
    loop.control.reset_fault()
    loop.run(0.5)
    assert loop.phases[-1] is Phase.HOLDING
    loop.pressed = False
    loop.run(0.4)
    loop.pressed = True
    loop.run(0.1)
    assert loop.phases[-1] is Phase.GUIDED


def test_the_button_must_be_pressed_anew_in_a_new_mode():
    loop = ArmLoop("ur5", READY)
    loop.run(0.1)
    assert "the mode is computed_torque" in loop.control.guide(True)
    loop.control.parameters = rd.ArmParameters(mode="hand_guiding")
    loop.run(0.1)
    assert loop.phases[-1] is Phase.HOLDING
    loop.run(0.4)
    loop.control.guide(True)
    loop.run(0.1)
    assert loop.phases[-1] is Phase.GUIDED
    with pytest.raises(TrajectoryError, match="hand_guiding follows no trajectory"):
        loop.go(READY, 1.0)


def test_guided_along_axes_the_frame_goes_there_only():
    """The held directions give way by push / stiffness; the free one moves."""
    loop = Guided(guide_axes=("z",), cartesian_stiffness=(2000.0, 200.0))
    links = loop.links
    before = links.forward_kinematics(loop.plant.position)
    jacobian = links.function("jacobian", axes="root")
    loop.disturbance = lambda time, effort: (
        effort + jacobian(loop.plant.position).T @ [20.0, 0, 40.0, 0, 0, 0]
    )
    loop.run(1.5)
    moved = links.forward_kinematics(loop.plant.position)[:3, 3] - before[:3, 3]
    assert moved[2] > 0.1
    assert np.abs(moved[:2]).max() < 0.03
    turned = before[:3, :3].T @ links.forward_kinematics(loop.plant.position)[:3, :3]
    assert np.arccos(np.clip(0.5 * (np.trace(turned) - 1.0), -1.0, 1.0)) < 0.1


def test_bad_parameters_are_refused():
    for given, words in (
        ({"guide_axes": ("w",)}, "directions are x, y, z, rx, ry, rz"),
        ({"guide_axes": ("x", "x")}, "twice"),
        ({"guide_friction": 1.0}, "guide_friction"),
    ):
        with pytest.raises(ParameterError, match=words):
            rd.ArmParameters(**given)
    loop = Guided(pressed=False)
    with pytest.raises(ParameterError, match=r"guide_axes holds the frame.*cartesian_stiffness.*is stable"):
        loop.control.parameters = rd.ArmParameters(
            mode="hand_guiding", guide_axes=("x",), cartesian_stiffness=(1e6, 30.0)
        )
