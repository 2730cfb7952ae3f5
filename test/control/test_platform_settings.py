"""Settings of a platform's core, rules of its following errors, and declarations that are checked before."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from crooked_hexapod import crooked_mapping
from platform_body import spatial_inertia
from platform_legs import legs_of_machine, replace_leg, replace_legs, with_limits
from scipy.spatial.transform import Rotation

from robot_dynamics import stewart
from robot_dynamics.control.core.library import COMMANDS
from robot_dynamics.control.stewart import declared, platform_model
from robot_dynamics.control.stewart.envelope import Pace
from robot_dynamics.control.stewart.following import platform_rules
from robot_dynamics.control.stewart.parameters import LAWS, StewartParameters
from robot_dynamics.control.stewart.platform_model import BEYOND, ReportedPose
from robot_dynamics.errors import BackendError, ParameterError, StateError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import MASSLESS
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.machine import JointFriction

HOME_TURN = Rotation.from_rotvec([0.1, -0.15, 0.2])
ZERO = np.array([0.3, 0.5, 0.2, 0.6, 0.4, 0.7])


def all_different():
    """The crooked hexapod with limits and friction of its own for each leg, and with tilted gravity."""
    mapping = crooked_mapping()
    mapping["gravity"] = [0.6, -0.8, -9.6]
    for k, leg in enumerate(mapping["legs"]):
        leg["limits"] = {
            "length": [1.1 + 0.01 * k, 2.0 + 0.03 * k], "speed": 1.0 + 0.1 * k, "force": 9e3 + 100.0 * k,
            "base_angle": 0.6 + 0.01 * k, "platform_angle": 0.7 + 0.02 * k,
        }  # fmt: skip
        leg["friction"] = {
            "coulomb": 30.0 + 5.0 * k,
            "prismatic": 900.0 + 10.0 * k,
            "universal": 0.0,
            "spherical": 0.0,
        }
    return stewart.load(mapping).machine


CROOKED = all_different()
LENGTH = CROOKED.characteristic_length
K = np.arange(6)
LOAD = RigidBody(200.0, np.array([0.1, -0.2, 0.3]), np.array([[10.0, 1, 2], [1, 12, 3], [2, 3, 9]]))


# Fields of the core


def test_the_model_has_the_machine_its_limits_and_its_payload():
    parameters = StewartParameters(
        watch_margin=0.1, ki=0.0, kp=(400.0, 300.0, 500.0, 200.0, 100.0, 600.0), kv=(40.0,),
        disturbance_limit=2.0, wrench_fade_time=0.7,
    )  # fmt: skip
    model = platform_model.platform_model(CROOKED, LOAD, parameters, ZERO)
    strokes = 0.9 + 0.02 * K
    along = legs_of_machine(CROOKED, CROOKED.home_position, HOME_TURN.as_matrix())[1][:, :3]
    quaternion = HOME_TURN.as_quat()
    expected = {
        "home": [0.05, -0.03, 1.3, *(quaternion * np.sign(quaternion[3]))],
        "up": -np.array([0.6, -0.8, -9.6]) / np.linalg.norm([0.6, -0.8, -9.6]),
        "zero_lengths": ZERO,
        "gravity": [0.6, -0.8, -9.6],
        "coulomb": 30.0 + 5.0 * K,
        "viscous": 900.0 + 10.0 * K,
        "guessed_coulomb": np.zeros(6),
        "guessed_viscous": np.zeros(6),
        "disturbance_gain": np.array(parameters.kp) * 40.0 / 16.0,
        "disturbance_left": [0.002, 0.002 / LENGTH],
        "disturbance_bounds": [2.0, 2.0 / LENGTH],
        "longest": 2.0 + 0.03 * K + 0.1 * strokes,
        "shortest": 1.1 + 0.01 * K - 0.1 * strokes,
        "speed": 1.1 * (1.0 + 0.1 * K),
        "base_cosine": np.cos(1.1 * (0.6 + 0.01 * K)),
        "platform_cosine": np.cos(1.1 * (0.7 + 0.02 * K)),
        "payload_center": [0.1, -0.2, 0.3],
        "payload_inertia": LOAD.inertia.ravel(),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(list(getattr(model, name)), values, atol=1e-12, err_msg=name)
    for name, rows in (("base_axes", along), ("platform_axes", along @ HOME_TURN.as_matrix())):
        np.testing.assert_allclose([list(row) for row in getattr(model, name)], rows, atol=1e-12)
    for name, rows in (("base", CROOKED.base_points), ("platform", CROOKED.platform_points)):
        np.testing.assert_array_equal([list(row) for row in getattr(model.geometry, name)], rows)
    assert model.geometry.characteristic_length == LENGTH
    assert model.stroke == pytest.approx(1.0)
    assert (model.condition_limit, model.payload_mass, model.wrench_fade) == (30.0, 200.0, 0.7)
    assert not model.turning_friction and not model.watches and not model.descent


def test_what_is_not_there_is_zero_in_the_model():
    bare = replace(with_limits(CROOKED, longest=np.inf), gravity=np.zeros(3))
    model = platform_model.platform_model(bare, None, StewartParameters(ki=50.0), ZERO)
    assert (model.payload_mass, model.stroke) == (0.0, 0.0)
    np.testing.assert_array_equal(list(model.up), np.zeros(3))
    np.testing.assert_array_equal(list(model.payload_center), np.zeros(3))
    np.testing.assert_array_equal(list(model.disturbance_left), np.zeros(2))
    np.testing.assert_array_equal(list(model.disturbance_gain), np.full(6, 50.0))
    for friction, turns in (((0.1, 0.0, 0.0), 1), ((0.0, 1.0, 0.0), 0), ((0.0, 0.0, 0.1), 1)):
        made = replace_legs(CROOKED, friction=[JointFriction(*friction)] * 6)
        model = platform_model.platform_model(made, None, StewartParameters(), ZERO)
        assert model.turning_friction == turns


@pytest.mark.parametrize("guessed", [(), ("masses",), ("friction",), ("masses", "friction")])
def test_half_of_guessed_friction_counts_in_the_descent_and_none_is_compensated(guessed):
    made = replace(CROOKED, guessed=guessed)
    model = platform_model.platform_model(made, None, StewartParameters(), ZERO)
    descent = platform_model.ffi().new("rd_plan *")
    platform_model.add_descent(model, descent, made, 0.3, Pace(2.0, 1.5, np.ones(6), 0.9))
    assert model.descent == descent and model.blind_speed == 0.3
    assert list(model.pace) == [2.0, 1.5]
    share = 0.5 if "friction" in guessed else 0.0
    np.testing.assert_allclose(list(model.guessed_coulomb), share * (30.0 + 5.0 * K))
    np.testing.assert_allclose(list(model.guessed_viscous), share * (900.0 + 10.0 * K))
    platform = StewartPlatform(made)
    found = platform_model.compensated(platform)
    assert (found is platform) is (share == 0.0)
    for leg in found.machine.legs if share else ():
        assert leg.friction == JointFriction(0.0, 0.0, 0.0, 0.0)


def settings(**parameters):
    compiled = SimpleNamespace(
        machine=CROOKED, kernel=SimpleNamespace(single_address=platform_model.ffi().cast("rd_kernel", 64))
    )
    given = StewartParameters(**parameters)
    model = platform_model.platform_model(CROOKED, None, given, ZERO)
    found = platform_model.platform_settings(compiled, model, given)
    return found, found.value, model


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("mode", list(LAWS))
def test_settings_have_the_law_the_command_and_the_range_of_setpoints(command, mode):
    kept, value, model = settings(
        command=command, mode=mode, settle_speed=0.07, length_gain=3.0, stop_deceleration=5.0, kp=(9.0,),
        kv=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    )  # fmt: skip
    law = "feedforward" if command != "effort" else mode
    assert value.mode == list(LAWS).index(law)
    assert value.command == COMMANDS.index(command)
    assert (value.setpoint_speed, value.setpoint_gain, value.setpoint_deceleration) == (0.07, 3.0, 5.0)
    found = [value.setpoint_range[k] for k in range(12)]
    np.testing.assert_allclose(found, np.concatenate([1.1 + 0.01 * K - ZERO, 2.0 + 0.03 * K - ZERO]))
    assert [value.kp[k] for k in range(6)] == [9.0] * 6
    assert [value.kv[k] for k in range(6)] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert value.platform == model and kept.kept is not None


def test_the_deceleration_of_setpoints_is_that_of_stops_or_twice_the_acceleration():
    assert settings(max_acceleration=3.0)[1].setpoint_deceleration == 6.0


def test_a_model_that_is_not_compiled_is_refused_with_its_name():
    compiled = SimpleNamespace(machine=CROOKED, kernel=None)
    said = r"^the model of 'motion_base' is not compiled; its controller calls it from C$"
    with pytest.raises(BackendError, match=said):
        platform_model.platform_settings(compiled, None, StewartParameters())


def test_bounds_and_stops_are_those_of_the_legs_and_the_parameters():
    bounds = platform_model.platform_bounds(CROOKED, StewartParameters(max_velocity_factor=3.0))
    np.testing.assert_allclose(bounds.effort, 9e3 + 100.0 * K)
    np.testing.assert_allclose(bounds.velocity_limit, 1.0 + 0.1 * K)
    np.testing.assert_allclose(bounds.velocity, 3.0 * (1.0 + 0.1 * K))
    for given, hold, stop in (
        ({}, (4.0, 4.0 / LENGTH), (8.0, 8.0 / LENGTH)),
        ({"stop_deceleration": 5.0}, (4.0, 4.0 / LENGTH), (5.0, 5.0 / LENGTH)),
        ({"max_angular_acceleration": 9.0}, (4.0, 9.0), (8.0, 9.0)),
        ({"max_acceleration": 1.5, "stop_deceleration": 30.0}, (1.5, 1.5 / LENGTH), (30.0, 30.0 / LENGTH)),
    ):
        found = platform_model.platform_stops(CROOKED, StewartParameters(**given))
        np.testing.assert_allclose(found.hold_deceleration, np.repeat(hold, 3))
        np.testing.assert_allclose(found.stop_deceleration, np.repeat(stop, 3))
        np.testing.assert_allclose(found.following, np.repeat([0.05, 0.2], 3))


def test_a_body_on_the_platform_is_part_of_it():
    assert platform_model.loaded(CROOKED, MASSLESS) is CROOKED
    found = platform_model.loaded(CROOKED, LOAD).platform
    plate = CROOKED.platform
    assert found.mass == 1700.0
    middle = (1500.0 * plate.center_of_mass + 200.0 * LOAD.center_of_mass) / 1700.0
    np.testing.assert_allclose(found.center_of_mass, middle)
    assert CROOKED.platform.mass == 1500.0


@pytest.mark.parametrize(
    ("force", "torque", "good"),
    [
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], True),
        ([1.0, 2.0], [4.0, 5.0, 6.0], False),
        ([1.0, 2.0, 3.0], [4.0, np.nan, 6.0], False),
        ([1.0, 2.0, -np.inf], [4.0, 5.0, 6.0], False),
        ([], [], False),
    ],
)
def test_a_wrench_is_six_finite_numbers(force, torque, good):
    if good:
        np.testing.assert_array_equal(platform_model.checked_wrench(force, torque), np.arange(1.0, 7.0))
        return
    given = [float(x) for x in [*force, *torque]]
    with pytest.raises(StateError) as error:
        platform_model.checked_wrench(force, torque)
    assert str(error.value) == f"the external wrench is {given}; it must be six finite numbers"


@pytest.mark.parametrize(
    ("kind", "leg", "words", "refused"),
    [
        (0, 2, "leg_3: measured length 1.2346 m, beyond 2.5 m", False),
        (1, 0, "leg_1: measured length 1.2346 m, beyond 2.5 m", False),
        (2, 5, "leg_6: measured speed 1.2346 m/s, beyond 2.5 m/s", False),
        (3, 1, "leg_2: measured angle at the base 1.2346 rad, beyond 2.5 rad", False),
        (4, 4, "leg_5: measured angle at the platform 1.2346 rad, beyond 2.5 rad", False),
        (5, 0, "measured condition number 1.235, beyond 2.5", False),
        (
            6,
            0,
            "no pose near the last one has the measured leg lengths; the search ended 1.23e+00 m away",
            True,
        ),
        (7, 0, "the platform is in a singular pose", True),
        (
            8,
            0,
            "the condition number is 1.23, beyond the limit of 2.5 more than twice:"
            " too near to a singular pose",
            True,
        ),
    ],
)
def test_a_state_beyond_a_limit_has_words_with_leg_value_and_limit(kind, leg, words, refused):
    results = SimpleNamespace(
        discontinuity=BEYOND + 6 * kind + leg, discontinuity_size=1.23456, discontinuity_more=2.5
    )
    assert platform_model.words_of(results, CROOKED.leg_names) == words
    assert platform_model.is_refusal(results) is refused


def test_a_reported_pose_has_its_parts_and_its_condition_number():
    turn = Rotation.from_rotvec([0.2, -0.1, 0.3])
    rest = np.arange(10.0, 28.0)
    values = np.concatenate([[0.06, -0.05, 1.25], turn.as_quat(), rest, [1.5]])
    found = ReportedPose(CROOKED, values)
    np.testing.assert_array_equal(found.position, values[:3])
    assert found.quaternion == tuple(values[3:7])
    np.testing.assert_allclose(found.rotation, turn.as_matrix(), atol=1e-12)
    np.testing.assert_array_equal(found.twist, rest[:6])
    np.testing.assert_array_equal(found.rates, rest[6:12])
    np.testing.assert_array_equal(found.disturbance, rest[12:])
    assert found.condition_bound == 1.5
    jacobian = legs_of_machine(CROOKED, values[:3], turn.as_matrix())[1]
    np.testing.assert_allclose(found.jacobian, jacobian, atol=1e-12)
    scaled = jacobian / np.repeat([1.0, LENGTH], 3)
    assert found.condition_number == pytest.approx(np.linalg.cond(scaled), rel=1e-12)
    values[-1] = np.inf
    assert ReportedPose(CROOKED, values).condition_number == np.inf


# Declarations


def test_the_share_of_a_load_that_legs_carry_is_that_of_the_weakest():
    limits = np.full(6, 10.0)
    free = np.array([2.0, -2.0, 5.0, 0.0, 0.0, 0.0])
    free[4], free[5] = -9.8, 10.0
    for more, share in (
        (np.array([0, 0, 0, 0, -0.5, 0]), 0.4),
        (np.array([16.0, 0, 0, 0, 0, 0]), 0.5),
        (np.array([-24.0, 0, 0, 0, 0, 0]), 0.5),
        (np.array([0, -16.0, 0, 0, 0, 0]), 0.5),
        (np.array([0, 24.0, 10.0, 0, 0, 0]), 0.5),
        (np.array([8.0, 12.0, 5.0, 10.0, 19.8, -20.0]), 1.0),
        (np.array([4.0, 1.0, 1.0, 1.0, 1.0, 0.0]), 1.0),
        (np.zeros(6), 1.0),
        (np.array([np.inf, 0, 0, 0, 0, 0]), 0.0),
        (np.array([np.nan, 0, 0, 0, 0, 0]), 0.0),
    ):
        with np.errstate(divide="raise", over="raise"):
            assert declared.carried_share(free, free + more, limits) == pytest.approx(share)
    assert declared.carried_share(np.full(6, 12.0), np.full(6, 14.0), limits) == 0.0


def test_the_leg_that_a_load_overloads_most_is_named_with_both_forces():
    limits = np.array([10.0, 10.0, 20.0, 10.0, 10.0, 10.0])
    for forces, words in (
        ([10.0, -10.0, 20.0, 0.0, 0.0, 0.0], ""),
        ([12.0, -14.5, 20.0, 0.0, 0.0, 0.0], "leg_2 would need 14.5000 N at rest, its limit is 10.0000"),
        ([12.0, -11.0, 22.5, 0.0, 0.0, 0.0], "leg_3 would need 22.5000 N at rest, its limit is 20.0000"),
    ):
        found = declared.overload(CROOKED.leg_names, np.array(forces), limits)
        assert found == (f"{words}: check payload_mass [kg] and payload_center [m]" if words else "")


def inertia_at_home(body):
    """(6, 6) of a body about the platform's origin, base frame."""
    return spatial_inertia(HOME_TURN.as_matrix(), body.mass, body.center_of_mass, body.inertia)


def without_legs():
    """The machine whose legs weigh nothing."""
    return replace_legs(CROOKED, lower=[MASSLESS] * 6, upper=[MASSLESS] * 6)


RATIO = float(
    np.linalg.eigvals(
        np.linalg.solve(
            inertia_at_home(CROOKED.platform), inertia_at_home(CROOKED.platform) + inertia_at_home(LOAD)
        )
    ).real.max()
)


@pytest.mark.parametrize("delay", [0.0, 0.003])
def test_gains_are_stable_before_a_load_is_there_up_to_a_bound(delay):
    """By the ratio of the inertias, half a period and the delay."""
    light, period = without_legs(), 0.004
    most = 1.0 / (RATIO * (0.5 * period + delay))

    def check(kp, kv, period=period, delay=delay):
        declared.check_load_ahead(light, LOAD, StewartParameters(kp=kp, kv=kv, loop_delay=delay), period)

    check((1.0,), (most * (1.0 - 1e-6),))
    check((0.999 * most,), (1.0,))
    check((1.0,), (0.0,))
    check((1.0,), (0.0,), period=3.0)
    bad = most * (1.0 + 1e-6)
    for kp, kv in (((1.0,), (bad,)), ((bad,), (1.0,)), ((1.0,) * 6, (1.0, 1.0, 1.0, 1.0, 1.0, bad))):
        with pytest.raises(ParameterError) as error:
            check(kp, kv)
        assert str(error.value) == (
            f"with this payload the model has {RATIO:.3f} times the inertia of the platform without it, which"
            " with a state every 4.000 ms would oscillate until it is loaded: kv and kp / kv at most"
            f" {most:.4f}, or check payload_mass, payload_center, payload_inertia"
        )
    check((1.0,), (bad,), period=0.0)
    check((1.0,), (bad,), delay=-1.0)


def test_another_machine_is_one_of_other_points_or_wider_limits():
    assert declared.other_machine(CROOKED, CROOKED) == ""
    for name in ("base_point", "platform_point"):
        for shift, other in ((0.9e-6, False), (-1.1e-6, True), (1.1e-6, True)):
            moved = getattr(CROOKED.legs[3], name) + np.array([0.0, shift, 0.0])
            found = declared.other_machine(CROOKED, replace_leg(CROOKED, 3, **{name: moved}))
            assert found == (f"the {name}s differ" if other else "")
    flat = replace_legs(CROOKED, base_point=CROOKED.base_points * [1.0, 1.0, 0.0])
    higher = flat.legs[2].base_point + np.array([0.0, 0.0, 1e-6])
    assert declared.other_machine(flat, replace_leg(flat, 2, base_point=higher)) == ""
    for name, sign in (("shortest", -1.0), ("longest", 1.0), ("speed", 1.0), ("force", 1.0),
                       ("base_angle", 1.0), ("platform_angle", 1.0)):  # fmt: skip
        for more, wider in ((1e-6, True), (-1e-6, False), (0.0, False)):
            limits = CROOKED.legs[4].limits
            limits = replace(limits, **{name: getattr(limits, name) + sign * more})
            found = declared.other_machine(CROOKED, replace_leg(CROOKED, 4, limits=limits))
            assert found == ("leg_5 has wider limits" if wider else "")


# Following errors


LAW = np.random.default_rng(5).normal(size=(6, 6)) * [400.0] * 3 + 900.0 * np.eye(6)
WEIGHT = np.array([3e3, 2.5e3, -2e3, 4e3, 1.5e3, 2e3])


def forces(motions):
    """Linear in the acceleration; at home and at rest."""
    home = [*CROOKED.home_position, *HOME_TURN.as_quat()]
    for motion in motions:
        np.testing.assert_allclose(motion[:7], home, atol=1e-12)
        assert not motion[7:13].any() and not motion[19:].any()
    return WEIGHT + motions[:, 13:19] @ LAW.T


def thresholds(made, kp, kv, setpoints=False):
    """Thresholds of legs and pose by their definition."""
    jacobian = legs_of_machine(CROOKED, CROOKED.home_position, HOME_TURN.as_matrix())[1]
    friction = 30.0 + 5.0 * K
    speed = np.array([leg.limits.speed for leg in made.legs])
    if "friction" in made.guessed:
        friction = friction + (900.0 + 10.0 * K) * np.minimum(speed, 10.0)
    mobility = np.linalg.inv(LAW)
    compliance = mobility / np.array(kp)[:, None]
    error = 1.5 * (0.2 * np.abs(compliance @ WEIGHT) + np.abs(compliance) @ friction)
    moment = 0.5 * LENGTH * np.linalg.norm((jacobian.T @ WEIGHT)[:3])
    tilt = compliance @ np.linalg.solve(jacobian.T, np.vstack([np.zeros((3, 3)), np.eye(3)])) * 0.3 * moment
    error = error + np.abs(tilt).max(axis=1)
    stretch = 1.5 * (0.2 * np.abs(jacobian @ compliance @ WEIGHT) + np.abs(jacobian @ compliance) @ friction)
    stretch = stretch + np.abs(jacobian @ tilt).max(axis=1)
    strokes = np.array([leg.limits.longest - leg.limits.shortest for leg in made.legs])
    lag = 0.1 if setpoints else min(kv) / max(kp)
    room = np.maximum(np.minimum(0.1 * strokes, lag * speed), np.minimum(0.005, 0.1 * strokes))
    most = room.max()
    turned = max(2.0 * most / LENGTH, 0.02)
    if setpoints:
        return room, [2.0 * most, turned]
    linear, angular = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
    return np.minimum(stretch + 0.005, room), [min(linear + 0.005, 2.0 * most), min(angular + 0.02, turned)]


@pytest.mark.parametrize("guessed", [(), ("friction",)])
@pytest.mark.parametrize("speed", [None, 40.0, 1e-3])
@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("command", ["effort", "position"])
def test_following_errors_are_derived_from_weight_friction_inertia_and_gains(guessed, speed, scale, command):
    made = replace(CROOKED if speed is None else with_limits(CROOKED, speed=speed), guessed=guessed)
    kp = scale * np.array([400.0, 300.0, 500.0, 200.0, 100.0, 600.0])
    kv = scale * np.array([40.0, 30.0, 50.0, 20.0, 12.0, 60.0])
    parameters = StewartParameters(kp=tuple(kp), kv=tuple(kv), command=command)
    found = platform_rules(made, forces, parameters)
    legs, pose = thresholds(made, kp, kv, command == "position")
    np.testing.assert_allclose(found["following"], legs, rtol=1e-9)
    np.testing.assert_allclose(found["pose"], pose, rtol=1e-9)
    if command == "position":
        assert (found["oscillation"], found["delay"]) == (0.0, -1.0)
    else:
        assert found["oscillation"] != 0.0


@pytest.mark.parametrize("command", ["effort", "position"])
def test_following_errors_of_short_legs_are_shares_of_their_strokes(command):
    """Of strokes of some centimetres, at which the least threshold would be too much."""
    limits = [
        replace(leg.limits, shortest=1.5, longest=1.51 + 0.01 * k, speed=1e-3)
        for k, leg in enumerate(CROOKED.legs)
    ]
    made, parameters = replace_legs(CROOKED, limits=limits), StewartParameters(command=command)
    kp, kv = parameters.gains()
    expected, pose = thresholds(made, kp, kv, command == "position")
    found = platform_rules(made, forces, parameters)
    np.testing.assert_allclose(found["following"], expected, rtol=1e-9)
    np.testing.assert_allclose(found["following"], np.minimum(0.005, 0.001 * (1 + K)), rtol=1e-9)
    np.testing.assert_allclose(found["pose"], pose, rtol=1e-9)


def test_following_errors_that_are_declared_count_as_they_are():
    given = StewartParameters(
        max_following_error=(0.01, 0.02, -1.0, 0.0, 0.05, 0.06), max_pose_error=(-1.0, 0.3)
    )
    found, derived = (
        platform_rules(CROOKED, forces, given),
        platform_rules(CROOKED, forces, StewartParameters()),
    )
    expected = [0.01, 0.02, np.inf, derived["following"][3], 0.05, 0.06]
    np.testing.assert_allclose(found["following"], expected)
    assert found["pose"] == [np.inf, 0.3]


def test_a_law_without_gains_has_the_bounds_alone():
    found = platform_rules(CROOKED, forces, StewartParameters(kp=(0.0,), kv=(0.0,)))
    assert np.isfinite(found["following"]).all() and np.isfinite(found["pose"]).all()
