"""The generated package's C: the control core, and a program of the arm per quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from robot_dynamics.codegen.emit_lanes import lanes_library, state_source
from robot_dynamics.codegen.emit_single import Targets
from robot_dynamics.control.core.sources import CORE
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import make_program
from robot_dynamics.dynamics.quantities import quantity_named
from robot_dynamics.model.chain import KinematicChain

QUANTITIES = ("inverse_dynamics", "mass_matrix", "coriolis", "gravity", "momentum")
"""Quantities that the controller and the solver call, beside the Jacobian of every tip."""


_LIBRARY = "lanes.h"
_ROOT = {"axes": "root"}
TASK = {
    "task_pose": ("forward_kinematics", {}),
    "task_jacobian": ("jacobian", _ROOT),
    "task_jacobian_rate": ("jacobian_rate", _ROOT),
}
"""Programs of the frame of the mode cartesian_impedance: the quantity of each, and its options."""


def core_sources() -> Mapping[str, str]:
    """The control core's files, as the node has them."""
    texts = (entry for entry in files(CORE).iterdir() if entry.name.endswith((".c", ".h")))
    return {entry.name: entry.read_text(encoding="utf-8") for entry in texts}


def kernel_sources(
    chain: KinematicChain, package: str, notice: Sequence[str], frame: str | None
) -> Mapping[str, str]:
    """One C file per quantity, whose function is ``<package>_<quantity>(in, out)``, and their header.

    Args:
        chain: the robot.
        package: its name.
        notice: lines at the head of each file.
        frame: of the mode cartesian_impedance; None: there is none.
    """
    programs = {f"{name}.c": _kernel(chain, f"{package}_{name}", (name, {}), notice) for name in QUANTITIES}
    for name, tip in zip(jacobian_names(chain), chain.tips, strict=True):
        options = quantity_named("jacobian").chosen(chain, {"frame": tip.link})
        programs[f"{name}.c"] = _kernel(chain, f"{package}_{name}", ("jacobian", options), notice)
    for name, (quantity, own) in TASK.items() if frame is not None else ():
        options = quantity_named(quantity).chosen(chain, {"frame": frame, **own})
        programs[f"{name}.c"] = _kernel(chain, f"{package}_{name}", (quantity, options), notice)
    return {_LIBRARY: f"/* SPDX-License-Identifier: Apache-2.0 */\n{lanes_library()}", **programs}


def jacobian_names(chain: KinematicChain) -> list[str]:
    """Names of the programs of the tips' Jacobians."""
    return ["jacobian", *(f"jacobian_{k}" for k in range(2, len(chain.tips) + 1))]


def _kernel(
    chain: KinematicChain, name: str, about: tuple[str, Mapping[str, str]], notice: Sequence[str]
) -> str:
    quantity, options = about
    held = [array.name for array in quantity_named(quantity).held if array.name in ("gravity", "payload")]
    held += ["measured"] if chain.whole is not None else []
    program = make_program(chain, None, quantity, held, Objective.TIME, options)
    arguments = "\n".join(f" *   in[{i}] {a.name} ({a.size})" for i, a in enumerate(program.inputs))
    head = "\n".join(f" * {line}" for line in notice)
    out = Targets.of(program).parameter
    return (
        f"/* SPDX-License-Identifier: Apache-2.0\n *\n{head}\n *\n * {name}(in, out): {quantity}, of\n"
        f"{arguments}\n */\n#define kernel {name}\n#define kernel_batch {name}_batch\n\n"
        f"int kernel(const double *const *in, {out});\n\n{state_source(program, _LIBRARY)}"
    )
