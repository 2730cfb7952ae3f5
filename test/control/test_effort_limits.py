"""Effort limits in force: the description's, or those of ``max_effort``; a zero is none."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import load_urdf
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.effort_limits import EffortLimitParameters, unlimited
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.trajectory import Reference, Waypoint, plan
from robot_dynamics.errors import ParameterError

NAMES = ("shoulder", "elbow", "wrist")
DESCRIBED = (10.0, np.inf, 3.0)

EXPORTED = """<robot name="pendulum"><link name="base"/>
  <link name="disc"><inertial><mass value="2"/>
    <inertia ixx="0.5" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.5"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="0" velocity="0"/></joint></robot>"""


class Inertia:
    """Unit inertia without gravity: the effort is the acceleration."""

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return qdd


@pytest.fixture
def chain():
    """One joint whose effort and velocity limits are written as 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_urdf(EXPORTED)


def stiff(**parameters):
    return ArmParameters(kp=(100.0,), kv=(0.0,), half_period_ahead=False, max_stamp_step=10.0, **parameters)


def displaced_by_one(controller):
    """The effort against one radian beside the hold: 100 N·m if nothing limits it."""
    controller.update(0.0, np.zeros(1), np.zeros(1))
    return controller.update(1.0, np.ones(1), np.zeros(1)).effort.tolist()


@pytest.mark.parametrize("max_effort", [(1.0, 2.0), (1.0,) * 4])
def test_a_list_of_another_length_is_refused(max_effort, chain):
    with pytest.raises(ParameterError, match=r"'max_effort' has .* values; give 1, or 3"):
        EffortLimitParameters(max_effort=max_effort).effort_limits_of(NAMES, DESCRIBED)
    with pytest.raises(ParameterError, match="max_effort"):
        Feedforward(chain, Inertia(), FeedforwardParameters(max_effort=max_effort))


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e10])
def test_values_that_are_no_limits_are_refused(value):
    for parameters in (ArmParameters, FeedforwardParameters):
        with pytest.raises(ParameterError, match="max_effort"):
            parameters(max_effort=(value,))


def test_an_effort_limit_of_zero_does_not_limit_the_controller(chain):
    controller = ArmController(chain, Inertia(), stiff())
    assert displaced_by_one(controller) == [-100.0]
    assert unlimited(chain, controller.effort_limits) == (
        "no effort limit for swing: the parameter max_effort sets one"
    )


def test_the_controller_keeps_to_max_effort_from_the_moment_it_is_set(chain):
    controller = ArmController(chain, Inertia(), stiff())
    displaced_by_one(controller)
    controller.parameters = replace(stiff(), max_effort=(4.0,))
    assert controller.update(1.001, np.ones(1), np.zeros(1)).effort.tolist() == [-4.0]
    assert unlimited(chain, controller.effort_limits) == ""


def test_a_velocity_limit_of_zero_refuses_no_trajectory(chain):
    at_rest = Reference.at_rest(np.zeros(1))
    planned = plan(chain, ["swing"], [Waypoint(0.5, [1.0])], 0.0, at_rest, 0.0)
    assert planned.sample(0.5).position == pytest.approx([1.0])


def test_the_feeder_cuts_at_max_effort_only(chain):
    move = (["swing"], [Waypoint(1.0, [1.0])], None, 0.0)
    efforts = {}
    for limit in ((), (2.0,)):
        feeder = Feedforward(chain, Inertia(), FeedforwardParameters(max_effort=limit))
        feeder.observe(np.zeros(1))
        planned = feeder.plan(*move)
        efforts[limit] = np.abs(planned.samples.efforts).max()
        assert planned.beyond == (("swing",) if limit else ())
    # The largest acceleration of a quintic from rest to rest over one radian in one second.
    assert efforts[()] == pytest.approx(10.0 / np.sqrt(3.0), rel=1e-3)
    assert efforts[(2.0,)] == 2.0
