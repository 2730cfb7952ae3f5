"""The same machine as a closed-loop mechanism in MuJoCo."""

import numpy as np
import pytest
from stewart_oracles import random_motion, random_oracle, state

from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_of

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")


def numbers(values):
    return " ".join(f"{value:.17g}" for value in np.ravel(values))


def inertial(body):
    i = body.inertia
    full = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
    center = numbers(body.center_of_mass)
    return f'<inertial mass="{body.mass:.17g}" pos="{center}" fullinertia="{numbers(full)}"/>'


def mujoco_quaternion(rotation):
    return numbers(np.roll(quaternion_from_rotation(rotation), 1))


class Mechanism:
    """Six open legs and a free platform in MuJoCo; the loops are closed by algebra, without softness."""

    def __init__(self, machine):
        self.machine = machine
        legs = ""
        for i, leg in enumerate(machine.legs):
            tip = machine.home_position + machine.home_rotation @ leg.platform_point
            vector = tip - leg.base_point
            x = vector / np.linalg.norm(vector)
            y = np.cross(leg.universal_axis, x)
            y /= np.linalg.norm(y)
            axes = np.stack([x, y, np.cross(x, y)], axis=1)
            fixed = numbers(axes.T @ leg.universal_axis)
            rub, slide = leg.friction.universal, leg.friction.prismatic
            legs += f"""
            <body pos="{numbers(leg.base_point)}" quat="{mujoco_quaternion(axes)}">
              <joint name="k{i}" type="hinge" axis="{fixed}" damping="{rub:.17g}"/>
              <joint name="y{i}" type="hinge" axis="0 1 0" damping="{rub:.17g}"/>
              {inertial(leg.lower)}
              <body pos="{np.linalg.norm(vector):.17g} 0 0">
                <joint name="slide{i}" type="slide" axis="1 0 0" damping="{slide:.17g}"
                 armature="{leg.drive.reflected_mass:.17g}" stiffness="{leg.spring.stiffness:.17g}"
                 springref="{leg.spring.length - np.linalg.norm(vector):.17g}"/>
                {inertial(leg.upper)}
                <site name="tip{i}"/>
              </body>
            </body>"""
        points = "".join(
            f'<site name="point{i}" pos="{numbers(leg.platform_point)}"/>'
            for i, leg in enumerate(machine.legs)
        )
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><compiler angle="radian" balanceinertia="false"/>
            <option gravity="{numbers(machine.gravity)}"><flag contact="disable"/></option>
            <worldbody>{legs}
            <body name="platform"><freejoint/>{inertial(machine.platform)}{points}</body>
            </worldbody></mujoco>"""
        )
        self.data = mujoco.MjData(self.model)

    def jacobian(self, site):
        result = np.zeros((3, self.model.nv))
        mujoco.mj_jacSite(self.model, self.data, result, None, self.data.site(site).id)
        return result

    def actuator_forces(self, position, rotation, velocity, omega, acceleration, alpha, force, torque):
        """Forces of the slides and of the six ball joints that give the wanted motion."""
        model, data = self.model, self.data
        data.qpos[:18] = 0.0
        data.qpos[18:21], data.qpos[21:] = position, np.roll(quaternion_from_rotation(rotation), 1)
        for _ in range(20):
            mujoco.mj_forward(model, data)
            for i in range(6):
                gap = data.site(f"point{i}").xpos - data.site(f"tip{i}").xpos
                own = slice(3 * i, 3 * i + 3)
                data.qpos[own] += np.linalg.solve(self.jacobian(f"tip{i}")[:, own], gap)
        mujoco.mj_forward(model, data)
        loops = np.vstack([self.jacobian(f"tip{i}") - self.jacobian(f"point{i}") for i in range(6)])
        twist, turning = (
            np.concatenate([velocity, rotation.T @ omega]),
            np.concatenate([acceleration, rotation.T @ alpha]),
        )
        data.qvel[18:] = twist
        data.qvel[:18] = np.linalg.solve(loops[:, :18], -loops[:, 18:] @ twist)
        mujoco.mj_forward(model, data)
        drift = np.zeros(18)
        for i in range(6):
            for sign, name in ((1.0, "tip"), (-1.0, "point")):
                site, rate = data.site(f"{name}{i}"), np.zeros((3, model.nv))
                body = model.site(f"{name}{i}").bodyid[0]
                mujoco.mj_jacDot(model, data, rate, None, site.xpos, body)
                drift[3 * i : 3 * i + 3] += sign * (rate @ data.qvel)
        qacc = np.concatenate([np.linalg.solve(loops[:, :18], -drift - loops[:, 18:] @ turning), turning])
        needed = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, needed, qacc)
        needed += data.qfrc_bias - data.qfrc_passive
        needed[18:21] -= rotation @ force
        needed[21:] -= torque
        slides = np.zeros((model.nv, 6))
        slides[2:18:3] = np.eye(6)
        return np.linalg.solve(np.hstack([slides, loops.T]), needed)[:6]


def compare(platform, moved, force, torque):
    rotation = rotation_of(moved[1])
    expected = Mechanism(platform.machine).actuator_forces(moved[0], rotation, *moved[2:], force, torque)
    result = platform.inverse_dynamics(*moved, force=force, torque=torque, on_violation="report")
    np.testing.assert_allclose(result.actuator_forces, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(3))
def test_forces_agree_with_mujoco_on_random_machines(seed):
    oracle = random_oracle(seed)
    for leg in oracle.mapping["legs"]:
        # MuJoCo's loops are closed by points: nothing there could carry friction.
        leg["friction"]["spherical"] = 0.0
    moved = state(random_motion(seed), 0.6)
    compare(stewart.load(oracle.mapping), moved, np.array([5.0, -3.0, 8.0]), np.array([1.0, -2.0, 0.5]))


def test_forces_agree_with_mujoco_with_springs_and_turning_drives():
    oracle = random_oracle(4)
    for number, leg in enumerate(oracle.mapping["legs"]):
        leg["friction"]["spherical"] = 0.0
        leg["drive"] = {"lead": 0.01 + 0.001 * number, "screw_inertia": 1e-5, "rotor_inertia": 2e-6}
        leg["spring"] = {"length": 0.5 + 0.02 * number, "force": 0.0, "stiffness": 100.0 * number + 50.0}
    moved = state(random_motion(4), 0.6)
    compare(stewart.load(oracle.mapping), moved, np.array([5.0, -3.0, 8.0]), np.array([1.0, -2.0, 0.5]))


def test_forces_agree_with_mujoco_on_the_demonstration_machine():
    text = resource("config/stewart_demo.yaml").read_text(encoding="utf-8")
    platform = stewart.load(text.replace("spherical: 0.01", "spherical: 0.0"))
    moved = (
        np.array([0.03, -0.02, 0.57]),
        np.array([0.05, -0.04, 0.1]),
        np.array([0.2, 0.1, -0.1]),
        np.array([0.3, -0.2, 0.4]),
        np.array([1.0, -2.0, 1.5]),
        np.array([2.0, 1.0, -3.0]),
    )
    compare(platform, moved, np.zeros(3), np.zeros(3))
