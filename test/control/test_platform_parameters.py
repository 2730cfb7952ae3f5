"""Parameters of a platform's controller: defaults, least values, lengths, descriptions, and the park pose."""

import numpy as np
import pytest
from motion_base import MACHINE

from robot_dynamics.control.core.library import COMMANDS
from robot_dynamics.control.stewart.declared import check_park_pose
from robot_dynamics.control.stewart.parameters import LAWS, PlatformPayloadParameters, StewartParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import describe


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kp": (1.0, 2.0)}, "parameter 'kp' has 2 values; give 1, or 6: x, y, z and about x, y, z"),
        ({"kv": ()}, "parameter 'kv' has 0 values; give 1, or 6: x, y, z and about x, y, z"),
        ({"kv": (1.0,) * 7}, "parameter 'kv' has 7 values; give 1, or 6: x, y, z and about x, y, z"),
        ({"max_pose_error": (0.1,)}, "parameter 'max_pose_error' has 1 values; give distance and angle"),
        (
            {"stream_tolerance": (0.1,) * 3},
            "parameter 'stream_tolerance' has 3 values; give distance and angle",
        ),
        (
            {"park_pose": (0.1,) * 5},
            "parameter 'park_pose' has 5 values; give none, or 6: x, y, z, roll, pitch, yaw",
        ),
    ],
)
def test_lists_of_another_length_are_refused_with_what_they_should_have(given, said):
    with pytest.raises(ParameterError) as error:
        StewartParameters(**given)
    assert str(error.value) == said


def test_defaults_are_those_of_the_reference():
    """As docs and files name them."""
    given = StewartParameters()
    expected = {
        "safe_output": "settle", "command": "effort", "length_gain": 2.0, "mode": "computed_force",
        "kp": (400.0,), "kv": (40.0,), "ki": 0.0, "disturbance_limit": 3.0, "max_acceleration": 4.0,
        "max_angular_acceleration": 0.0, "stop_deceleration": 0.0, "governed_share": 0.9,
        "settle_speed": 0.05, "blind_speed": 0.5, "park_pose": (),
        "start_parked": False, "max_pose_error": (0.0, 0.0),
        "stream_clock": "stamps", "stream_window": 0.1, "stream_jerk": 0.0, "stream_tolerance": (0.005, 0.02),
        "stream_timeout": 0.1, "on_stream_end": "park", "watch_margin": 0.05, "wrench_timeout": 0.2,
        "wrench_fade_time": 1.0,
    }  # fmt: skip
    assert {name: getattr(given, name) for name in expected} == expected
    payload = PlatformPayloadParameters()
    assert (payload.payload_mass, payload.payload_center, payload.payload_inertia) == (
        0.0,
        (0.0,) * 3,
        (0.0,) * 6,
    )


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("length_gain", 0.0), ("kp", 0.0), ("kv", 0.0), ("ki", -1.0), ("disturbance_limit", 0.0),
        ("max_acceleration", 1e-3), ("max_angular_acceleration", 0.0), ("stop_deceleration", 0.0),
        ("governed_share", 0.1), ("settle_speed", 1e-3), ("blind_speed", 1e-3), ("max_pose_error", -1.0),
        ("stream_window", 0.0), ("stream_jerk", 0.0), ("stream_tolerance", 0.0), ("stream_timeout", 1e-3),
        ("watch_margin", 0.0), ("wrench_timeout", 1e-3), ("wrench_fade_time", 0.0), ("park_pose", -1e3),
    ],
)  # fmt: skip
def test_parameters_have_a_least_value(name, least):
    count = {"kp": 1, "kv": 1, "max_pose_error": 2, "stream_tolerance": 2, "park_pose": 6}.get(name)
    for value, good in ((least, True), (least - 1e-4, False)):
        given = {name: value if count is None else (value,) * count}
        if good:
            assert getattr(StewartParameters(**given), name) == given[name]
        else:
            with pytest.raises(ParameterError, match=name):
                StewartParameters(**given)


@pytest.mark.parametrize(
    ("name", "least"), [("payload_mass", 0.0), ("payload_center", -100.0), ("payload_inertia", -1e6)]
)
def test_payloads_have_a_least_value(name, least):
    count = {"payload_center": 3, "payload_inertia": 6}.get(name)
    with pytest.raises(ParameterError, match=name):
        PlatformPayloadParameters(**{name: least - 1.0 if count is None else (least - 1.0,) * count})


def test_parameters_are_described_with_unit_and_choices():
    """Two of the controller's stay as it has begun; a payload counts in the platform's frame."""
    own = {one.name: one for one in describe(StewartParameters)}
    began = {"command", "start_parked"}
    assert {name for name, one in own.items() if one.read_only and name in vars(StewartParameters)} == began
    assert own["command"].choices == COMMANDS and own["mode"].choices == tuple(LAWS)
    assert own["safe_output"].choices == ("settle", "gravity_fade", "zero")
    assert own["on_stream_end"].choices == ("hold", "settle", "park")
    assert own["stream_clock"].choices == ("stamps", "recovered")
    units = {"kp": "1/s²", "kv": "1/s", "ki": "1/s³", "stream_jerk": "m/s³", "settle_speed": "m/s"}
    assert {name: own[name].unit for name in units} == units
    for one in describe(PlatformPayloadParameters):
        assert "platform" in one.text and "tip" not in one.text


@pytest.mark.parametrize("command", COMMANDS)
def test_setpoints_are_sent_where_the_drives_close_the_loop(command):
    given = StewartParameters(command=command, safe_output="zero")
    setpoints = command != "effort"
    assert given.sends_setpoints is setpoints
    assert given.fail_safe == ("setpoints of a stop" if setpoints else "zero")


def test_gains_are_one_for_all_or_one_for_each_direction():
    kp, kv = StewartParameters(kp=(9.0,), kv=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)).gains()
    np.testing.assert_array_equal(kp, np.full(6, 9.0))
    np.testing.assert_array_equal(kv, np.arange(1.0, 7.0))


@pytest.mark.parametrize(
    ("pose", "kept"),
    [
        ((0.05, -0.03, 1.2, 0.02, -0.05, 0.1), True),
        ((0.05, -0.03, 9.0, 0.02, -0.05, 0.1), False),
        ((0.0, 0.0, 1.159, 0.0, 1.2, 0.0), False),
    ],
)
def test_a_park_pose_is_within_the_limits_of_the_machine(pose, kept):
    if kept:
        check_park_pose(MACHINE, pose)
        return
    with pytest.raises(ParameterError) as error:
        check_park_pose(MACHINE, pose)
    assert str(error.value).startswith("park_pose is out of reach: leg_")
    assert str(error.value).endswith(
        "; it is x, y, z in m in the base frame, where home is (0.000, 0.000, 1.159), and roll, pitch, yaw"
        " in rad"
    )
