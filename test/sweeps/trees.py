"""Every installed description as a whole tree: generated quantities against Pinocchio.

    make sweep NAME=trees                                  inverse dynamics and mass matrix, about two minutes
    make sweep NAME=trees SWEEP="--only g1 talos --all"    every quantity that has an oracle here

Numbers that are nearly multiples of pi/2 (1.5708) are made so first, for both: frames are placed with such
angles made round. Joints that follow others are not in the model of Pinocchio; the constant matrix from
coordinates to joints is. A description that cannot be loaded is named with the reason.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
from installed_robots import installed_robots

from robot_dynamics.codegen.emit_python import python_module
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf

CLOSE = 1e-12
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")
MIMIC = re.compile(r"<mimic[^>]*/>|<mimic[^>]*>\s*</mimic>")


def made_round(text: str) -> str:
    """The description with exact multiples of pi/2."""

    def exact(match: re.Match[str]) -> str:
        quarter = round(float(match[0]) / (math.pi / 2))
        near = quarter and abs(float(match[0]) - quarter * math.pi / 2) < 2e-5
        return repr(quarter * math.pi / 2) if near else match[0]

    return NUMBER.sub(exact, text)


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

    def expected(self) -> dict[str, Callable[[], np.ndarray]]:
        """Results by quantity, flat."""
        g = self.of_joints

        def at(function: Callable, count: int) -> np.ndarray:
            return function(self.model, self.data, *self.joints[:count])

        def mass() -> np.ndarray:
            upper = np.triu(at(pin.crba, 1))
            return g.T @ (upper + np.triu(upper, 1).T) @ g

        def derivatives() -> np.ndarray:
            at(pin.computeRNEADerivatives, 3)
            return np.concatenate([g.T @ self.data.dtau_dq @ g, g.T @ self.data.dtau_dv @ g, mass()])

        return {
            "inverse_dynamics": lambda: g.T @ at(pin.rnea, 3),
            "mass_matrix": mass,
            "gravity": lambda: g.T @ at(pin.computeGeneralizedGravity, 1),
            "energy": lambda: np.array([at(pin.computeKineticEnergy, 2), at(pin.computePotentialEnergy, 1)]),
            "inverse_dynamics_derivatives": derivatives,
        }


def worst(text: str, every: bool) -> tuple[int, dict[str, float]]:
    """Joints, and the relative difference of each quantity."""
    chain = load_urdf(text, tips="all")
    oracle, model = Oracle(text, chain), SerialModel.from_chain(chain)
    states = {"mass_matrix": 1, "gravity": 1, "energy": 2}
    found = {}
    for quantity, expected in oracle.expected().items():
        if every or quantity in ("inverse_dynamics", "mass_matrix"):
            space: dict = {}
            exec(python_module([generate(model, quantity, effort="none")], ["sweep"]), space)
            result = space[quantity](*oracle.state[: states.get(quantity, 3)].tolist())
            right = np.ravel(expected())
            result = (
                np.concatenate([np.ravel(part) for part in result]) if isinstance(result, tuple) else result
            )
            found[quantity] = float(np.abs(np.asarray(result) - right).max() / max(1e-9, np.abs(right).max()))
    return chain.dof, found


def main() -> int:
    """Print a line for every description; 1 where one is not close."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the paths")
    parser.add_argument("--all", action="store_true", help="all quantities")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    far = 0
    for name, path in installed_robots().items():
        if any(part in name for part in arguments.only):
            try:
                text = made_round(path.read_text(encoding="utf-8", errors="replace"))
                joints, differences = worst(text, arguments.all)
            except ModelError as error:
                print(f"skipped  {name}: {error}", flush=True)
                continue
            good = max(differences.values()) < CLOSE
            far += not good
            parts = ", ".join(f"{key} {value:.1e}" for key, value in differences.items())
            print(f"{'close  ' if good else 'FAR    '}  {name}: {joints} joints, {parts}", flush=True)
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main())
