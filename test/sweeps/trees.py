"""Every installed description as a whole tree: every generated quantity against Pinocchio.

    make sweep NAME=trees                                   about ten minutes
    make sweep NAME=trees SWEEP="--only g1 talos"           parts of the paths
    make sweep NAME=trees SWEEP="--folder DESCRIPTIONS"     those of a folder besides

Where angles and lengths of the model's frames are made round (1.57079632679 is pi/2), the frames are placed
again without, and the difference before stands beside. Joints that follow others are not in the
model of Pinocchio; the constant matrix from coordinates to joints is. Accelerations and their derivatives are
put back into the equations of motion: light fingers make the mass matrix ill-conditioned, for Pinocchio too.
A robot of which a joint moves no mass has none. A description that cannot be loaded is named with the reason.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from installed_robots import installed_robots

from robot_dynamics.dynamics.array_dynamics import ArrayDynamics
from robot_dynamics.dynamics.compiled import CompiledDynamics, compile_dynamics
from robot_dynamics.dynamics.identifiable import base_of_chain
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf

CLOSE = 1e-12
Dynamics = CompiledDynamics | ArrayDynamics
EXACT = 1e-14
"""Tolerance of frames in which nothing is made round."""
GRAVITY = (0.0, 0.0, -9.81)
MIMIC = re.compile(r"<mimic[^>]*/>|<mimic[^>]*>\s*</mimic>")


class Oracle:
    """Pinocchio at one state."""

    def __init__(self, text: str, chain: KinematicChain) -> None:
        self.model = pin.buildModelFromXML(MIMIC.sub("", text))
        self.data = self.model.createData()
        self.of_joints = np.zeros((self.model.nv, chain.dof))
        offsets = np.zeros(self.model.nv)
        for joint in chain.joints:
            row = self.model.idx_vs[self.model.getJointId(joint.name)]
            self.of_joints[row, joint.coordinate], offsets[row] = joint.multiplier, joint.offset
        self.state = np.random.default_rng(0).uniform(-1.0, 1.0, (3, chain.dof))
        values = self.of_joints @ self.state[0] + offsets
        q = pin.neutral(self.model)
        for joint in range(1, self.model.njoints):
            at, value = self.model.idx_qs[joint], values[self.model.idx_vs[joint]]
            q[at : at + self.model.nqs[joint]] = (
                value if self.model.nqs[joint] == 1 else (math.cos(value), math.sin(value))
            )
        self.joints = q, self.of_joints @ self.state[1], self.of_joints @ self.state[2]

    def at(self, function: Callable, count: int = 3) -> np.ndarray:
        """Values of a function of Pinocchio for positions, velocities and accelerations of its joints."""
        return np.array(function(self.model, self.data, *self.joints[:count]))

    def mass(self) -> np.ndarray:
        upper = np.triu(self.at(pin.crba, 1))
        return self.of_joints.T @ (upper + np.triu(upper, 1).T) @ self.of_joints

    def derivatives(self, accelerations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the efforts by positions and velocities, at other accelerations."""
        g = self.of_joints
        pin.computeRNEADerivatives(self.model, self.data, *self.joints[:2], g @ accelerations)
        return g.T @ self.data.dtau_dq @ g, g.T @ self.data.dtau_dv @ g

    def differences(self, found: Dynamics, chain: KinematicChain) -> Iterator[tuple[str, float]]:
        """Relative difference of each quantity."""
        g, (q, qd, qdd), mass = self.of_joints, self.state, self.mass()
        efforts, weight = g.T @ self.at(pin.rnea), g.T @ self.at(pin.computeGeneralizedGravity, 1)
        bias = g.T @ self.at(pin.nonLinearEffects, 2)
        typical = 1e-3 * float(np.abs(efforts).max())
        yield "inverse_dynamics", relative(found.inverse_dynamics(q, qd, qdd), efforts)
        yield "gravity", relative(found.gravity(q), weight, typical)
        yield "coriolis", relative(found.coriolis(q, qd), bias - weight, typical)
        yield "coriolis_matrix", relative(found.coriolis_matrix(q, qd) @ qd, bias - weight, typical)
        yield "mass_matrix", relative(found.mass_matrix(q), mass)
        by_position, by_velocity = self.derivatives(qdd)
        slopes = found.inverse_dynamics_derivatives(q, qd, qdd)
        expected = (by_position, by_velocity, mass)
        yield (
            "inverse_dynamics_derivatives",
            max(relative(*pair, typical) for pair in zip(slopes, expected, strict=True)),
        )
        momentum, slope, own_weight = found.momentum(q, qd)
        matrix = g.T @ self.at(pin.computeCoriolisMatrix, 2).T @ self.joints[1]
        pairs = (momentum, mass @ qd), (slope, matrix), (own_weight, weight)
        yield "momentum", max(relative(*pair, typical) for pair in pairs)
        energies = [self.at(pin.computeKineticEnergy, 2), self.at(pin.computePotentialEnergy, 1)]
        yield "energy", max(map(relative, found.energy(q, qd), energies))
        regressor = found.regressor(q, qd, qdd)
        blocks = [10 * self.model.getJointId(joint.name) - 10 for joint in chain.joints]
        columns = np.concatenate([np.arange(first, first + 10) for first in blocks])
        yield "regressor", relative(regressor, g.T @ self.at(pin.computeJointTorqueRegressor)[:, columns])
        base = (
            found.base_map
            if isinstance(found, CompiledDynamics)
            else base_of_chain(chain, np.array(GRAVITY)).grouping
        )
        yield "base_regressor", relative(found.base_regressor(q, qd, qdd) @ base, regressor)
        yield from self._kinematics(found, chain)
        size = np.sqrt(np.diag(mass))
        if size.min() > 1e-9 * size.max():
            yield from self._accelerations(found, mass, bias, efforts)

    def _accelerations(
        self, found: Dynamics, mass: np.ndarray, bias: np.ndarray, efforts: np.ndarray
    ) -> Iterator[tuple[str, float]]:
        """Errors of the inverse mass matrix and of accelerations: put back, beside the added terms."""
        q, qd = self.state[:2]
        size = np.sqrt(np.diag(mass))
        scaled, inverse = mass / np.outer(size, size), found.inverse_mass_matrix(q) * np.outer(size, size)
        unit = np.eye(len(size))
        yield "inverse_mass_matrix", relative(inverse @ scaled, unit, np.abs(inverse).max())
        accelerations = found.forward_dynamics(q, qd, efforts)
        terms, typical = (np.abs(mass) @ np.abs(accelerations)).max(), 1e-3 * np.abs(efforts).max()
        yield "forward_dynamics", relative(mass @ accelerations + bias, efforts, terms)
        slopes = self.derivatives(accelerations)
        to_q, to_qd, _ = found.forward_dynamics_derivatives(q, qd, efforts)
        yield (
            "forward_dynamics_derivatives",
            max(
                relative(-mass @ to, slope, max(typical, (np.abs(mass) @ np.abs(to)).max()))
                for to, slope in zip((to_q, to_qd), slopes, strict=True)
            ),
        )

    def _kinematics(self, found: Dynamics, chain: KinematicChain) -> Iterator[tuple[str, float]]:
        q, qd = self.state[:2]
        self.at(pin.computeJointJacobiansTimeVariation, 2)
        pin.framesForwardKinematics(self.model, self.data, self.joints[0])
        worst = {"forward_kinematics": 0.0, "jacobian": 0.0, "jacobian_rate": 0.0}
        for tip in (chain.tips[0].link, chain.tips[-1].link):
            at = self.model.getFrameId(tip)
            local = pin.ReferenceFrame.LOCAL
            jacobian = pin.getFrameJacobian(self.model, self.data, at, local) @ self.of_joints
            rate = pin.getFrameJacobianTimeVariation(self.model, self.data, at, local) @ self.joints[1]
            for name, result, right in (
                ("forward_kinematics", found.forward_kinematics(q, frame=tip), self.data.oMf[at].homogeneous),
                ("jacobian", found.jacobian(q, frame=tip), jacobian),
                ("jacobian_rate", found.jacobian_rate(q, qd, frame=tip), rate),
            ):
                worst[name] = max(worst[name], relative(result, right, 1e-2))
        yield from worst.items()


def relative(found: np.ndarray, expected: np.ndarray, least: float = 1e-9) -> float:
    """Largest difference, as a share of the largest entry, or of ``least`` where that is more."""
    scale = max(least, float(np.abs(expected).max(initial=0.0)))
    return float(np.abs(np.asarray(found) - expected).max(initial=0.0)) / scale


def worst(text: str) -> tuple[int, dict[str, float], float]:
    """Joints, the relative difference of each quantity, and what making angles round changes besides.

    Where a difference is larger than rounding of floating-point numbers, frames are placed without making
    angles and lengths round, and the difference before is what that does.
    """
    chain = load_urdf(text, tips="all")
    oracle = Oracle(text, chain)
    dynamics = compile_dynamics(chain, GRAVITY, "python", (), friction=False)
    differences = dict(oracle.differences(dynamics, chain))
    before = max(differences.values())
    if before < CLOSE:
        return chain.dof, differences, 0.0
    defaults = SerialModel.from_chain.__func__.__kwdefaults__
    usual, defaults["tolerance"] = defaults["tolerance"], EXACT
    try:
        exact = compile_dynamics(chain, GRAVITY, backend="numpy", friction=False)
        again = dict(oracle.differences(exact, chain))
        return chain.dof, {key: min(x, again.get(key, x)) for key, x in differences.items()}, before
    finally:
        defaults["tolerance"] = usual


def descriptions(folders: list[Path]) -> dict[str, Path]:
    """The installed ones, and those of folders."""
    return installed_robots() | {
        str(path): path for folder in folders for path in sorted(folder.rglob("*.urdf"))
    }


def main() -> int:
    """Print a line for every description; 1 where one is not close."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the paths")
    parser.add_argument("--folder", nargs="*", type=Path, default=[], help="with descriptions")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    close, far, skipped = 0, [], []
    for name, path in descriptions(arguments.folder).items():
        if any(part in name for part in arguments.only):
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
                joints, differences, rounding = worst(text)
            except RobotDynamicsError as error:
                print(f"skipped  {name}: {error}", flush=True)
                skipped.append(name)
                continue
            quantity = max(differences, key=differences.__getitem__)
            good = differences[quantity] < CLOSE
            close += good
            parts = f"at most {differences[quantity]:.1e}, of {quantity}"
            parts += f"; {rounding:.1e} by round angles" if rounding else ""
            if not good:
                far.append(name)
                parts = ", ".join(f"{key} {value:.1e}" for key, value in differences.items() if value > CLOSE)
            print(f"{'close  ' if good else 'FAR    '}  {name}: {joints} joints, {parts}", flush=True)
    print(f"{close} close, {len(far)} far, {len(skipped)} skipped")
    return int(bool(far))


if __name__ == "__main__":
    sys.exit(main())
