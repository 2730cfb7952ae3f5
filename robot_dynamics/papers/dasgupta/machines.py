"""The paper's machine and a general one, and the operations of their generated models."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from robot_dynamics.codegen.program import OperationCount
from robot_dynamics.errors import StewartModelWarning
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.resources import resource
from robot_dynamics.spatial import Array, shift_inertia
from robot_dynamics.stewart.machine import JointFriction, Leg, LegLimits, Machine
from robot_dynamics.stewart.platform import StewartPlatform, load
from robot_dynamics.stewart.program import StewartProgram, make_program


@dataclass(frozen=True)
class StewartCount:
    """Operations of a machine's generated inverse dynamics.

    Attributes:
        name: of the machine.
        without: without friction.
        with_friction: with viscous friction in all joints.
    """

    name: str
    without: OperationCount
    with_friction: OperationCount


def paper_platform() -> StewartPlatform:
    """The paper's machine, without the warning about its printed inertias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StewartModelWarning)
        return load(resource("config/stewart_dasgupta1998.yaml"))


def general_machine(seed: int = 2) -> Machine:
    """A machine in which nothing vanishes and no two legs are alike."""
    random = np.random.default_rng(seed)
    angles = np.sort(random.uniform(0.0, 0.5, 6) + np.arange(6) * np.pi / 3.0)
    legs = []
    for number, angle in enumerate(angles, 1):
        ring = np.array([np.cos(angle), np.sin(angle), 0.0])
        axis = random.normal(size=3) * (1.0, 1.0, 0.3)
        legs.append(
            Leg(
                name=f"leg_{number}",
                base_point=0.6 * ring + random.uniform(-0.1, 0.1, 3),
                platform_point=0.3 * ring + random.uniform(-0.1, 0.1, 3),
                universal_axis=axis / np.linalg.norm(axis),
                lower=_body(random, 2.0, np.array([0.3, 0.0, 0.0])),
                upper=_body(random, 1.0, np.array([-0.3, 0.0, 0.0])),
                friction=JointFriction(*random.uniform(0.1, 0.3, 3)),
                limits=LegLimits(),
            )
        )
    return Machine(
        name="general",
        gravity=np.array([0.0, 0.0, -9.81]),
        platform=_body(random, 30.0, np.zeros(3)),
        legs=tuple(legs),
        home_position=np.array([0.03, -0.02, 0.8]),
        home_rotation=np.eye(3),
        characteristic_length=0.5,
        condition_limit=1e6,
    )


@cache
def counted_programs() -> dict[str, StewartProgram]:
    """The counted programs by the names of their files."""
    general = general_machine()
    machines = {
        "stewart_paper": paper_platform().machine,
        "stewart_general": general,
        "stewart_general_any_gravity": replace(general, gravity=np.array([1.1, -2.3, -9.4])),
    }
    programs = {}
    for name, machine in machines.items():
        programs[name] = make_program(machine)
        programs[f"{name}_frictionless"] = make_program(frictionless(machine))
    return programs


def stewart_counts() -> list[StewartCount]:
    """Operations of the paper's machine and of a general one, with gravity along z and in any direction."""
    programs = counted_programs()
    names = {
        "stewart_paper": "the paper's machine, with its zeros, equal legs",
        "stewart_general": "a general machine, nothing zero or equal",
        "stewart_general_any_gravity": "the same, gravity in any direction",
    }
    return [
        StewartCount(words, programs[f"{name}_frictionless"].count, programs[name].count)
        for name, words in names.items()
    ]


def frictionless(machine: Machine) -> Machine:
    """The same machine without friction."""
    smooth = [replace(leg, friction=JointFriction(0.0, 0.0, 0.0)) for leg in machine.legs]
    return replace(machine, legs=tuple(smooth))


def _body(random: np.random.Generator, mass: float, center: Array) -> RigidBody:
    """A cloud of point masses about ``center``: mass properties that something can have."""
    points = center + random.uniform(-0.15, 0.15, (8, 3))
    masses = mass * random.dirichlet(np.ones(8))
    middle = masses @ points
    arms = points - middle
    inertia = sum(shift_inertia(m, r) for m, r in zip(masses, arms, strict=True))
    return RigidBody(float(mass), middle, np.asarray(inertia))
