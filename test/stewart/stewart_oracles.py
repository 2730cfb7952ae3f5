"""Random machines made of point masses, and what physics says about them without the library's formulas.

Every body is a cloud of point masses, so its mass properties are realisable and its motion is nothing but the
motion of points. Positions follow from the pose by geometry alone; velocities come from complex steps,
accelerations from differences of high order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from point_masses import point_inertia

from robot_dynamics import stewart
from robot_dynamics.stewart.orientation import quaternion_from_rotation

# Central differences of eighth order: offsets 1..4.
FIRST = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([8 / 5, -1 / 5, 8 / 315, -1 / 560])
STEP = 0.01
HOME = np.array([0.02, -0.03, 0.6, 0.05, -0.1, 0.1])
"""Position [m], roll, pitch and yaw [rad] of random machines at home."""


@dataclass(frozen=True)
class Cloud:
    masses: np.ndarray
    points: np.ndarray

    def description(self) -> dict[str, Any]:
        mass = self.masses.sum()
        center = self.masses @ self.points / mass
        r = self.points - center
        inertia = sum(point_inertia(m, x) for m, x in zip(self.masses, r, strict=True))
        return {"mass": float(mass), "center_of_mass": center.tolist(), "inertia": inertia.tolist()}


@dataclass(frozen=True)
class Oracle:
    """A machine as clouds: platform cloud, and (lower, upper) of every leg."""

    mapping: dict[str, Any]
    platform: Cloud
    legs: tuple[tuple[Cloud, Cloud], ...]

    def positions(self, pose: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """World points of every body (platform first), the leg axes, and the leg lengths.

        ``pose`` holds position, roll, pitch, yaw, real or complex.
        """
        t, turn = pose[:3], rotation(pose[3:])
        bodies, frames, lengths = [self.platform.points @ turn.T + t], [], []
        for leg, (lower, upper) in zip(self.mapping["legs"], self.legs, strict=True):
            base, tip = np.array(leg["base_point"]), turn @ np.array(leg["platform_point"]) + t
            s, length = unit(tip - base)
            y, _ = unit(np.cross(np.array(leg["universal_axis"]), s))
            frame = np.stack([s, y, np.cross(s, y)], axis=1)
            bodies += [base + lower.points @ frame.T, tip + upper.points @ frame.T]
            frames.append(frame)
            lengths.append(length)
        return bodies, frames, np.array(lengths)

    @property
    def clouds(self) -> list[Cloud]:
        return [self.platform, *(cloud for leg in self.legs for cloud in leg)]

    @property
    def gravity(self) -> np.ndarray:
        return np.array(self.mapping["gravity"])

    def energy(self, motion: Callable[[Any], np.ndarray], time: float) -> float:
        """Kinetic plus potential energy [J]."""
        now = self.positions(motion(time + 0j))[0]
        moved = self.positions(motion(time + 1e-30j))[0]
        total = 0.0
        for cloud, r, step in zip(self.clouds, now, moved, strict=True):
            v = step.imag / 1e-30
            total += float(cloud.masses @ (0.5 * (v**2).sum(axis=1) - r.real @ self.gravity))
        return total

    def accelerations(self, motion: Callable[[Any], np.ndarray], time: float) -> list[np.ndarray]:
        """Acceleration of every point, gravity taken off."""
        samples = {i: self.positions(motion(time + i * STEP))[0] for i in range(-4, 5)}
        result = []
        for body in range(len(self.clouds)):
            total = -2.0 * (SECOND.sum()) * samples[0][body]
            for i, weight in enumerate(SECOND, start=1):
                total = total + weight * (samples[i][body] + samples[-i][body])
            result.append(total / STEP**2 - self.gravity)
        return result

    def rates(self, motion: Callable[[Any], np.ndarray], time: float) -> tuple[np.ndarray, ...]:
        """Angular velocities of the legs (6, 3), of the platform (3,), and leg rates (6,)."""
        _, frames, _ = self.positions(motion(time + 0j))
        _, moved, lengths = self.positions(motion(time + 1e-30j))
        w = np.array([axial(m.imag / 1e-30 @ f.real.T) for f, m in zip(frames, moved, strict=True)])
        turn, turned = rotation(motion(time + 0j)[3:]), rotation(motion(time + 1e-30j)[3:])
        return w, axial(turned.imag / 1e-30 @ turn.real.T), lengths.imag / 1e-30

    def losses(self, motion: Callable[[Any], np.ndarray], time: float) -> float:
        """Power of the friction [W]."""
        w, omega, rate = self.rates(motion, time)
        total = 0.0
        for leg, leg_w, leg_rate in zip(self.mapping["legs"], w, rate, strict=True):
            c = leg["friction"]
            total += c["universal"] * leg_w @ leg_w + c["prismatic"] * leg_rate**2
            total += c["spherical"] * (leg_w - omega) @ (leg_w - omega)
        return float(total)

    def actuator_forces(
        self,
        motion: Callable[[Any], np.ndarray],
        time: float,
        force: np.ndarray,
        torque: np.ndarray,
    ) -> np.ndarray:
        """Actuator forces by d'Alembert's principle in the six coordinates of the pose."""
        pose = motion(time)
        turn = rotation(pose[3:])
        lift = self.accelerations(motion, time)
        w, omega, rate = self.rates(motion, time)
        _, frames, _ = self.positions(pose)
        demand, stroke = np.zeros(6), np.zeros((6, 6))
        for j in range(6):
            step = np.zeros(6, dtype=complex)
            step[j] = 1e-30j
            bodies, moved_frames, lengths = self.positions(pose + step)
            stroke[j] = lengths.imag / 1e-30
            for cloud, body, a in zip(self.clouds, bodies, lift, strict=True):
                demand[j] += cloud.masses @ (a * (body.imag / 1e-30)).sum(axis=1)
            spin = axial(rotation((pose + step)[3:]).imag / 1e-30 @ turn.T)
            for i, leg in enumerate(self.mapping["legs"]):
                c = leg["friction"]
                leg_spin = axial(moved_frames[i].imag / 1e-30 @ frames[i].T)
                demand[j] += c["universal"] * w[i] @ leg_spin + c["prismatic"] * rate[i] * stroke[j, i]
                demand[j] += c["spherical"] * (w[i] - omega) @ (leg_spin - spin)
            demand[j] -= turn @ force @ step[:3].imag / 1e-30 + turn @ torque @ spin
        return np.linalg.solve(stroke, demand)


def random_oracle(seed: int) -> Oracle:
    """A general machine: nothing symmetric, legs different, gravity askew."""
    rng = np.random.default_rng(seed)

    def cloud(mass: float, center: list[float], size: float) -> Cloud:
        shares = rng.uniform(0.5, 1.5, 7)
        return Cloud(mass * shares / shares.sum(), np.array(center) + size * rng.normal(size=(7, 3)))

    legs, clouds = [], []
    for i in range(6):
        base_angle = np.pi / 3 * i + rng.uniform(-0.25, 0.25)
        tip_angle = base_angle + (0.5 if i % 2 == 0 else -0.5)
        base = [0.5 * np.cos(base_angle), 0.5 * np.sin(base_angle), rng.uniform(-0.1, 0.1)]
        tip = [0.3 * np.cos(tip_angle), 0.3 * np.sin(tip_angle), rng.uniform(-0.08, 0.08)]
        axis = np.array([-np.sin(base_angle), np.cos(base_angle), 0.0]) + rng.normal(scale=0.3, size=3)
        lower = cloud(rng.uniform(2.0, 5.0), [0.2, 0.05, -0.04], 0.06)
        upper = cloud(rng.uniform(0.5, 2.0), [-0.25, -0.03, 0.05], 0.05)
        clouds.append((lower, upper))
        friction = dict(zip(("universal", "prismatic", "spherical"), rng.uniform(0.05, 2.0, 3), strict=True))
        legs.append(
            {
                "name": f"leg_{i + 1}",
                "base_joint": "universal",
                "base_point": base,
                "platform_point": tip,
                "universal_axis": (axis / np.linalg.norm(axis)).tolist(),
                "lower": lower.description(),
                "upper": upper.description(),
                "friction": {name: float(value) for name, value in friction.items()},
                "limits": "unlimited",
            }
        )
    platform = cloud(rng.uniform(5.0, 30.0), [0.03, -0.02, 0.05], 0.15)
    mapping = {
        "name": f"random_{seed}",
        "gravity": (rng.normal(size=3) * 1.5 + [0.0, 0.0, -9.5]).tolist(),
        "characteristic_length": 0.3,
        "condition_limit": 1000.0,
        "home": {"position": HOME[:3].tolist(), "roll_pitch_yaw": HOME[3:].tolist()},
        "platform": platform.description(),
        "legs": legs,
    }
    return Oracle(mapping, platform, tuple(clouds))


def driven_oracle(seed: int, coulomb: bool = True) -> Oracle:
    """A random machine of point masses with all of it; every leg different, some without."""
    oracle = random_oracle(seed)
    rng = np.random.default_rng(seed + 50)
    for number, leg in enumerate(oracle.mapping["legs"]):
        if number != 1:
            leg["drive"] = {
                "lead": rng.uniform(0.005, 0.02),
                "screw_inertia": rng.uniform(1e-5, 5e-5),
                "rotor_inertia": rng.uniform(1e-6, 1e-5),
                "gear_ratio": rng.uniform(0.5, 3.0),
            }
        if number != 2:
            leg["spring"] = {
                "length": rng.uniform(0.5, 0.7),
                "force": rng.uniform(-50.0, 100.0),
                "stiffness": 0.0 if number == 3 else rng.uniform(50.0, 500.0),
            }
        if coulomb and number != 4:
            leg["friction"]["coulomb"] = rng.uniform(5.0, 40.0)
    return oracle


def let_spin(leg: dict[str, Any]) -> None:
    """Give a leg a spherical joint at its base too, two round bodies, and no friction that would turn it."""
    leg["base_joint"] = "spherical"
    del leg["universal_axis"]
    leg["friction"]["universal"] = leg["friction"]["spherical"] = 0.0
    for part, x in (("lower", 0.2), ("upper", -0.25)):
        leg[part]["center_of_mass"] = [x, 0.0, 0.0]
        leg[part]["inertia"] = np.diag([0.004, 0.03, 0.03]).tolist()


def driven_machine(seed: int, spinning: Sequence[int] = ()) -> stewart.Machine:
    """The machine of :func:`driven_oracle`; the legs ``spinning`` have spherical joints at both ends."""
    mapping = driven_oracle(seed).mapping
    for number in spinning:
        let_spin(mapping["legs"][number])
    return stewart.load(mapping).machine


def states_near_home(seed: int, *batch: int) -> list[np.ndarray]:
    """Parts of states, as pack takes them, that move and are loaded in every direction."""
    random = np.random.default_rng(seed)
    place = HOME[:3] + random.uniform(-0.04, 0.04, (*batch, 3))
    turn = np.apply_along_axis(rotation, -1, random.uniform(-0.2, 0.2, (*batch, 3)))
    others = [random.normal(size=(*batch, 3)) * size for size in (0.6, 1.1, 3.0, 4.0, 60.0, 9.0)]
    return [place, quaternion_from_rotation(turn), *others]


def random_motion(seed: int) -> Callable[[Any], np.ndarray]:
    """A smooth motion near home: position, roll, pitch, yaw at a real or complex time."""
    rng = np.random.default_rng(seed + 1000)
    size = np.array([0.05, 0.05, 0.05, 0.15, 0.15, 0.15])
    phase = rng.uniform(0.0, 6.0, (2, 6))
    frequency = rng.uniform(1.5, 4.0, (2, 6))

    def motion(time: Any) -> np.ndarray:
        return HOME + size * (np.sin(frequency * time + phase)).sum(axis=0)

    return motion


def state(motion: Callable[[Any], np.ndarray], time: float) -> tuple[np.ndarray, ...]:
    """Position, rpy, velocity, angular velocity, acceleration, angular acceleration of a motion."""

    def turning(t: Any) -> np.ndarray:
        """Angular velocity; exact for real times."""
        return axial(rotation(motion(t + 1e-30j)[3:]).imag / 1e-30 @ rotation(motion(t)[3:]).real.T)

    pose = motion(time)
    velocity = motion(time + 1e-30j).imag / 1e-30
    acceleration = -2.0 * SECOND.sum() * pose
    angular = np.zeros(3)
    for i, (first, second) in enumerate(zip(FIRST, SECOND, strict=True), start=1):
        acceleration = acceleration + second * (motion(time + i * STEP) + motion(time - i * STEP))
        angular = angular + first * (turning(time + i * STEP) - turning(time - i * STEP)) / STEP
    return pose[:3], pose[3:], velocity[:3], turning(time), acceleration[:3] / STEP**2, angular


def rotation(angles: np.ndarray) -> np.ndarray:
    x, y, z = angles
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    one = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    two = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    three = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return three @ two @ one


def unit(vector: np.ndarray) -> tuple[np.ndarray, Any]:
    """The vector's direction and length; complex steps pass through."""
    length = np.sqrt((vector * vector).sum())
    return vector / length, length


def axial(matrix: np.ndarray) -> np.ndarray:
    """The vector of a skew matrix."""
    return (
        np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]) / 2
    )
