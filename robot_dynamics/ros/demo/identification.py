"""A PUMA 560 that its description has 30 % wrong: excited, recorded, identified, tracking Lee's move."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.payload import with_payload
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.identification.description import identified_urdf
from robot_dynamics.identification.excitation.approach import approach
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.identification.excitation.plan import plan
from robot_dynamics.identification.excitation.points import Points
from robot_dynamics.identification.excitation.series import Series
from robot_dynamics.identification.files import write_identified
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.logs import read_log
from robot_dynamics.identification.runs import Options
from robot_dynamics.model.chain import KinematicChain, RigidBody
from robot_dynamics.model.load import load_urdf
from robot_dynamics.report import arm as arm_report
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo.arm import GOAL, ArmRun, Case, Progress
from robot_dynamics.ros.demo.outcome import DemoOutcome
from robot_dynamics.ros.recording.beside import recorded
from robot_dynamics.ros.support.processes import node_environment
from robot_dynamics.ros.support.trajectories import points_message

OFF = 0.3
"""By which share masses, centres, inertias, friction and payload differ from what is described."""
FRICTION, DAMPING = (5.0, 6.0, 4.0, 0.8, 0.7, 0.6), (4.0, 4.0, 3.0, 0.3, 0.3, 0.3)
"""Of the description [N·m] and [N·m·s]."""
PAYLOAD = 2.0
"""That the description says the arm carries [kg]."""
ENCODER_STEP, EFFORT_NOISE = 1e-5, 0.005
RATE = 250.0
"""Of the control loop [Hz]."""
KP = 3600.0
"""Position gain: what stands still within 1e-4 rad in spite of dry friction needs a stiff one [1/s²]."""
LIMIT = 1e-4
"""Largest joint error of Lee's move with what was identified [rad]."""


@dataclass(frozen=True)
class _Robots:
    """The description's files and chain, with the payload that it believes in, and the true robot's file."""

    described: Path
    chain: KinematicChain
    true: Path


def run(folder: Path, progress: Progress) -> DemoOutcome:
    """Excite, record, identify, and compare Lee's move before and after."""
    robots = _robots(folder)
    drives = yaml.safe_load(resource("config/puma560.yaml").read_text(encoding="utf-8"))
    rotors = ActuatorParameters(rotor_inertia=tuple(drives["/**"]["ros__parameters"]["rotor_inertia"]))
    motion = _motion(robots, progress)
    bag = folder / f"run_{time.strftime('%Y%m%d_%H%M%S')}"
    described = {"payload_mass": PAYLOAD, **_GAINS}
    with ArmRun(robots.described, robots.chain, RATE, True, _simulated(robots), settings=described) as arm:
        before = arm.run(Case("before", "with the description"), progress)
        with recorded(bag, node_environment(arm.domain)):
            arm.follow(motion, "exciting motion", progress)
    progress("identifying", 0.0)
    log = read_log(str(bag), robots.chain.joint_names)
    found = identify(robots.chain, [log], options=Options(drives=rotors))
    files = write_identified(found, robots.described, folder, accept=True)
    settings = {**found.friction(), **_GAINS}
    identified = folder / "identified.urdf"
    with ArmRun(identified, robots.chain, RATE, True, _simulated(robots), settings=settings) as arm:
        after = arm.run(Case("after", "with what was identified"), progress)
    progress("drawing", 1.0)
    summary = found.summary()
    missed = after.largest_error
    return DemoOutcome(
        "" if missed < LIMIT else f"largest joint error {missed:.3g} rad, limit {LIMIT:.3g} rad",
        arm_report.table([after, before], LIMIT),
        {
            "limits": {"joint": LIMIT},
            "runs": arm_report.results({"after": after, "before": before}),
            "identification": {
                "error": summary["error"],
                "states": len(log.time),
                "friction": summary["friction"],
            },
        },
        [*files, *arm_report.write_plots(after, [before], folder, LIMIT)],
    )


_GAINS: dict[str, Any] = {"kp": [KP], "kv": [2.0 * KP**0.5]}


def _robots(folder: Path) -> _Robots:
    source = resource("urdf/puma560.urdf")
    chain = load_urdf(source)
    joints = [
        replace(joint, damping=DAMPING[joint.coordinate], friction=FRICTION[joint.coordinate])
        for joint in chain.joints
    ]
    signs = [1.0 if k % 2 else -1.0 for k in range(len(joints))]
    others = [
        replace(
            joint,
            body=_off(joint.body, sign),
            damping=(1.0 + OFF * sign) * joint.damping,
            friction=(1.0 - OFF * sign) * joint.friction,
        )
        for joint, sign in zip(joints, signs, strict=True)
    ]
    described, true = folder / "described.urdf", folder / "true.urdf"
    described.write_bytes(identified_urdf(source, replace(chain, joints=tuple(joints))))
    true.write_bytes(identified_urdf(source, replace(chain, joints=tuple(others))))
    return _Robots(described, with_payload(load_urdf(described), PAYLOAD, (0.0, 0.0, 0.0)), true)


def _off(body: RigidBody, sign: float) -> RigidBody:
    scale = 1.0 + OFF * sign
    return RigidBody(scale * body.mass, (1.0 - OFF * sign) * body.center_of_mass, scale * body.inertia)


def _simulated(robots: _Robots) -> dict[str, Any]:
    return {
        "robot_description": robots.true.read_text(encoding="utf-8"),
        "payload_mass": (1.0 + OFF) * PAYLOAD,
        "encoder_step": ENCODER_STEP,
        "effort_noise": EFFORT_NOISE,
    }


def _motion(robots: _Robots, progress: Progress) -> JointTrajectory:
    """The exciting motion, with the way to it from where Lee's move ends."""
    chain = robots.chain
    bounds = Bounds.of(chain, {})
    clearance = Clearance(robots.described, chain, bounds, floor=0.0)
    models = [compile_dynamics(chain, friction=False)]
    excitation = plan(models, bounds, clearance, Series(10.0, 5), progress, starts=1)
    points = Points.of(excitation)
    points = points.after(approach(chain.joint_names, GOAL, points.positions[0], bounds, clearance))
    return points_message(points)
