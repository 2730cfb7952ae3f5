"""Values that the page shows beside a platform's name, from real topics."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from ros_harness import peer_with
from sensor_msgs.msg import JointState

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.viewing.stewart import StewartSource
from robot_dynamics.stewart import load
from robot_dynamics.view.stewart_geometry import StewartGeometry

pytestmark = pytest.mark.ros


def test_the_page_says_how_far_limits_change_a_stream_and_which():
    platform = load(resource("config/stewart_demo.yaml"))
    words = "changed by 3.2 mm, 0 mrad: longest length of leg_2"
    with peer_with() as peer:
        source = StewartSource(peer.node, "stewart_platform", StewartGeometry(platform), ())
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        reports = peer.publisher(DiagnosticArray, "stewart_platform/stream_deviation", qos.DIAGNOSTICS)
        names = list(platform.machine.leg_names)
        lengths = platform.legs(platform.machine.home_position, [0.0, 0.0, 0.0, 1.0]).lengths.tolist()
        empty = DiagnosticArray()

        def caption(message):
            states.publish(JointState(name=names, position=lengths))
            reports.publish(message)
            source.take()
            sample = source.sample()
            return "" if sample is None else sample.caption

        peer.wait_until(lambda: caption(empty).startswith("condition number"), "the platform is not known")
        assert "stream" not in caption(empty)
        told = DiagnosticArray(status=[DiagnosticStatus(message=words)])
        peer.wait_until(lambda: caption(told).endswith(f"stream {words}"), "the deviation is not shown")
