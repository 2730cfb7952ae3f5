"""Payload that an arm has picked up, estimated in motion on MuJoCo's arm, and loads that are no payload."""

import numpy as np
import pytest
from closed_loop import READY, ArmLoop
from shares import share_of
from two_arms import TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.control.arm.payload_estimate import estimate_at_rest, estimate_payload, rests
from robot_dynamics.errors import StateError

GAIN = 25.0
ARMS = {
    "ur5": (READY, {"friction": (3.0, 3.0, 2.0, 0.5, 0.5, 0.5), "rotor_inertia": (0.5,) * 6}),
    "panda": ((0.1, -0.6, 0.2, -2.2, 0.1, 1.7, 0.6), {"rotor_inertia": (0.2,) * 7}),
}


class Carrying:
    """An arm that moves at random for some seconds, with a load and friction beside the declared ones."""

    def __init__(self, robot, seed=0, reach=0.5, friction=1.0, push=None, duration=5.0, **load):
        start, drives = ARMS[robot]
        real = {**drives, **{f"payload_{name}": value for name, value in load.items()}}
        if "friction" in drives:
            real["friction"] = tuple(friction * value for value in drives["friction"])
        gains = {"kp": (400.0,), "kv": (40.0,), "observer_gain": GAIN, "start_motion": -1.0}
        loop = ArmLoop(robot, start, declared=drives, real=real, **gains)
        loop.disturbance = push
        loop.run(0.3)
        random, external = np.random.default_rng(seed), []
        while loop.time < duration + 0.3:
            if reach and loop.control.state == "holding position":
                way = random.uniform(-reach, reach, len(start))
                loop.go(np.add(start, way), random.uniform(0.7, 1.3))
            loop.step()
            external.append(loop.control.external.effort)
        assert loop.trip is None
        count = len(external)
        self.seen = (
            np.array(loop.times[-count:]), loop.positions[-count:], loop.velocities[-count:],
            np.array(external),
        )  # fmt: skip
        self.links = loop.control.dynamics.links

    def estimate(self):
        [found] = estimate_payload(self.links, GAIN, *self.seen)
        return found


@pytest.mark.parametrize(
    ("robot", "mass"), share_of([("ur5", 1.5), ("ur5", 0.5), ("panda", 0.5), ("panda", 2.0)], several=True)
)
@pytest.mark.parametrize("seed", share_of([0, 1]))
def test_a_mass_is_found_within_three_percent_in_five_seconds(robot, mass, seed):
    """Or within 30 g; its real friction is 10 % off, and the load has an inertia of its own."""
    center = (0.02, -0.03, 0.08)
    inertia = (0.004, 0.0, 0.0, 0.003, 0.0, 0.002)
    found = Carrying(robot, seed, friction=1.1, mass=mass, center=center, inertia=inertia).estimate()
    assert found.mass == pytest.approx(mass, abs=max(0.03 * mass, 0.03))
    np.testing.assert_allclose(found.center, center, atol=0.02)
    assert found.mass_deviation < 0.1 * mass and found.unexplained < 0.5
    both = found.added_to(PayloadParameters(payload_mass=1.0))
    assert both.payload_mass == found.mass + 1.0
    np.testing.assert_allclose(both.payload_center, found.mass * found.center / both.payload_mass)


@pytest.mark.long
def test_poses_that_are_approached_from_both_sides_tell_mass_and_first_moment():
    """Static friction keeps what the approach has left of it; both sides of each joint tell it apart."""
    start, drives = ARMS["ur5"]
    real = {**drives, "payload_mass": 2.0, "payload_center": (0.02, -0.03, 0.08)}
    gains = {"kp": (400.0,), "kv": (40.0,), "observer_gain": GAIN, "start_motion": -1.0}
    loop = ArmLoop("ur5", start, declared=drives, real=real, **gains)
    loop.run(0.2)
    random, external = np.random.default_rng(3), []
    seen = len(loop.times)
    for _ in range(5):
        pose = np.add(start, random.uniform(-0.6, 0.6, 6))
        for side in (0.1, -0.1):
            for goal in (pose + side, pose):
                loop.go(goal, 0.8)
                for _ in range(800):
                    loop.step()
                    external.append(loop.control.external.effort)
    times, external = np.array(loop.times[seen:]), np.array(external)
    positions, velocities = loop.positions[seen:], loop.velocities[seen:]
    found = rests(times, positions, velocities)
    assert len(found) == 20
    places = [k for k, _ in found]
    came = np.array([sign for _, sign in found])
    links = loop.control.dynamics.links
    [body] = estimate_at_rest(links, positions[places], came, external[places])
    assert body.mass == pytest.approx(2.0, abs=0.06)
    np.testing.assert_allclose(body.center, (0.02, -0.03, 0.08), atol=0.02)
    assert body.mass_deviation < 0.1
    with pytest.raises(StateError, match=r"from one side only.*approach poses from both sides"):
        estimate_at_rest(links, positions[places], np.abs(came), external[places])
    with pytest.raises(StateError, match="rests are too few"):
        estimate_at_rest(links, *(part[1:4:2] for part in (positions[places], came, external[places])))


def test_both_hands_of_a_tree_are_told_apart(tmp_path):
    """External efforts by the exact model with the loads; the waist feels both."""
    (tmp_path / "tree.urdf").write_text(TWO_ARMS)
    chain = rd.load_urdf(tmp_path / "tree.urdf", tips=("left_hand", "right_hand"))
    links = rd.compile_dynamics(chain, friction=False)
    loads = {"left_hand": (1.0, (0.05, 0.0, 0.02)), "right_hand": (0.4, (0.0, 0.03, -0.04))}
    real = links.with_payload(
        {tip: PayloadParameters(payload_mass=m, payload_center=c).payload for tip, (m, c) in loads.items()}
    )
    times = 0.004 * np.arange(1000)
    rates = np.linspace(1.1, 2.9, chain.dof)
    positions, velocities = 0.6 * np.sin(np.outer(times, rates)), 0.6 * rates * np.cos(np.outer(times, rates))
    accelerations = -0.6 * rates**2 * np.sin(np.outer(times, rates))
    observer = rd.MomentumObserver(chain, links, rd.ContactParameters(observer_gain=GAIN))
    efforts = real.inverse_dynamics(positions, velocities, accelerations)
    acted = 0.5 * (efforts + np.vstack([efforts[:1], efforts[:-1]]))
    external = np.array(
        [
            observer.update(*row).effort
            for row in zip(times.tolist(), positions, velocities, acted, strict=True)
        ]
    )
    found = estimate_payload(links, GAIN, times, positions, velocities, external)
    for one in found:
        mass, center = loads[one.tip]
        assert one.mass == pytest.approx(mass, abs=0.03)
        np.testing.assert_allclose(one.center, center, atol=0.02)


def test_an_arm_at_rest_tells_too_little():
    with pytest.raises(StateError, match=r"move at least two joints|too few"):
        Carrying("ur5", reach=0.0, mass=1.0, center=(0.0, 0.0, 0.1)).estimate()


@pytest.mark.long
def test_nothing_and_a_push_are_no_payload():
    with pytest.raises(StateError, match=r"nothing beyond 0\.02 kg"):
        Carrying("ur5").estimate()

    def turning(time, effort):
        return np.add(effort, (20.0 * np.sin(9.0 * time), 15.0 * np.cos(7.0 * time), 0, 0, 0, 0))

    with pytest.raises(StateError, match=r"no payload explains|has the mass -|nothing beyond"):
        Carrying("ur5", push=turning).estimate()
