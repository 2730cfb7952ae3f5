"""Driver profiles in the nodes: who carries the weight, and drivers that a node cannot command."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros

ARM = """<robot name="lever"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="500" velocity="10"/></joint></robot>"""


def test_the_profile_decides_who_carries_the_weight():
    """Whatever a parameter file of the package says, which has every parameter."""
    parameters = {
        "robot_description": ARM,
        "load_period": 0.0,
        "driver": "ur",
        "robot_compensates_gravity": False,
    }
    with NodeProcess("robot_model", parameters) as node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        loads = peer.subscribe(JointState, "robot_model/gravity_load", qos.RECORDING)
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.RECORDING)
        message = JointState(name=["lift"], position=[0.0])
        peer.repeat_until(lambda: states.publish(message), lambda: loads, "no load of gravity")
        assert loads[-1].effort[0] == 0.0
        refused = peer.set_parameter("robot_model", "robot_compensates_gravity", False)
        assert not refused.successful
        assert "is true by the driver profile 'ur'" in refused.reason
        assert peer.set_parameter("robot_model", "payload_mass", 1.0).successful

        def named():
            values = {v.key: v.value for r in reports for s in r.status for v in s.values}
            return values.get("driver") == "ur" and values.get("robot compensates gravity") == "True"

        peer.wait_until(named, "the diagnostics do not name the driver")


@pytest.mark.parametrize(
    ("node", "driver", "reason"),
    [
        ("computed_torque_controller", "kinova", "driver 'kinova' does not apply effort commands"),
        ("trajectory_feedforward", "dynamixel", "driver 'dynamixel' takes motor currents"),
        (
            "computed_torque_controller",
            "openarm_mit",
            "mode 'computed_torque' has gains, and driver 'openarm_mit'",
        ),
        ("computed_torque_controller", "urr", "there is no driver profile 'urr'; choose from "),
    ],
)
def test_what_a_driver_cannot_take_ends_the_node_with_one_line(node, driver, reason):
    with NodeProcess(node, {"robot_description": ARM, "driver": driver}) as process:
        assert process.wait_for_exit() != 0
        assert reason in process.output
        assert "Traceback" not in process.output


def test_the_friction_that_the_drive_compensates_is_left_out():
    """Against the law in closed form: 0.1 of the viscous and 0.2 of the dry friction are left."""
    from robot_dynamics import compile_dynamics, load_urdf
    from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
    from robot_dynamics.errors import ParameterError
    from robot_dynamics.model.driver_profile import load_driver
    from robot_dynamics.resources import resource

    puma = load_urdf(resource("urdf/puma560.urdf"))
    links = compile_dynamics(puma, friction=False)
    drives = ActuatorParameters(damping=(1.5,), friction=(0.8,), load_friction=(0.05,), rotor_inertia=(0.2,))
    q, qd, qdd = np.full(6, 0.3), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]), np.ones(6)
    own = links.inverse_dynamics(q, qd, qdd)
    left = load_driver("ur").command
    viscous, dry = np.array(left.viscous_left), np.array(left.coulomb_left)
    expected = own + 0.2 * qdd + 1.5 * viscous * qd + dry * (0.8 + 0.05 * np.abs(own)) * np.sign(qd)
    arm = ActuatedArm(links, puma, drives, load_driver("ur"))
    np.testing.assert_allclose(arm.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12)
    lever = load_urdf(ARM.encode())
    with pytest.raises(ParameterError, match=r"driver 'ur': .*viscous_left.* has 6 values"):
        ActuatedArm(compile_dynamics(lever, friction=False), lever, drives, load_driver("ur"))
