"""A CMake package around the C functions, whose arguments are gravity, payload and friction too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import numpy as np

from robot_dynamics.codegen.emit_c import c_header, c_source
from robot_dynamics.dynamics.constant_inputs import friction_vector
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.formulations import newton_euler
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.dynamics.identifiable import body_parameters
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError, escaped
from robot_dynamics.model.chain import JointKind, RigidBody
from robot_dynamics.model.lumping import lumped_body, moved_body
from robot_dynamics.spatial import Array

_STATES = 8


def package_files(export: Export) -> Mapping[str, str]:
    """The texts of the package's files by their paths.

    Raises:
        ParameterError: inverse dynamics, which example and checks call, are not asked for.
    """
    if "inverse_dynamics" not in export.quantities:
        raise ParameterError(
            "a CMake package has an example and checks that call inverse_dynamics; add it to the quantities"
        )
    live = replace(export, held=True)
    programs = live.programs()
    name = export.name
    stem = f"{name}_dynamics"
    spdx = f"/* SPDX-License-Identifier: {export.license} */\n"
    header = c_header(programs, f"{stem.upper()}_H", live.notice(), _declarations(export))
    source = c_source(programs, f"{stem}/{stem}.h", live.notice())
    texts = {
        f"src/{stem}.c": f"{spdx}{source}\n{_definitions(export)}",
        f"include/{stem}/{stem}.h": spdx + header,
    }
    called = next(program for program in programs if program.name == f"{name}_inverse_dynamics")
    inputs = [argument.name for argument in called.inputs]
    words = {
        "TABLES": _tables(live, inputs),
        "ARGUMENTS": ", ".join(f"{given}[k]" for given in inputs),
        "STATE_COUNT": str(_STATES),
        "NO_WRENCH": "std::array<double, 6>{}.data(), " if export.wrench else "",
        "LICENSE_ID": export.license,
        "ROBOT_DYNAMICS_EXAMPLE": f"{name.upper()}_DYNAMICS_EXAMPLE",
        "ROBOT": name,
    }
    folder = files("robot_dynamics.dynamics.languages").joinpath("package")
    for path, template in (
        ("CMakeLists.txt", "CMakeLists.txt.in"),
        ("example/example.cpp", "example.cpp"),
        ("test/checks.c", "checks.c"),
    ):
        text = folder.joinpath(template).read_text("utf-8")
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        texts[path] = text
    return texts


def _declarations(export: Export) -> str:
    name, n = export.name, export.chain.dof
    return f"""enum {{ {name}_joints = {n} }};

/* Of the joints, in the order of every array. Units of positions: "rad" or "m"; limits are infinite where the
 * description gives none. */
extern const char *const {name}_joint_names[{n}];
extern const char *const {name}_position_units[{n}];
extern const char *const {name}_effort_units[{n}];
extern const double {name}_lower_limits[{n}];
extern const double {name}_upper_limits[{n}];
extern const double {name}_velocity_limits[{n}];
extern const double {name}_effort_limits[{n}];

/* What may be given for gravity, payload and friction: as they were when this was written, and nothing. */
extern const double {name}_default_gravity[3];
extern const double {name}_no_payload[10];
extern const double {name}_default_friction[{2 * n}]; /* damping, then Coulomb friction, of the description */
extern const double {name}_no_friction[{2 * n}];

/* The payload of a body: mass [kg], centre of mass [m], inertia ixx, ixy, ixz, iyy, iyz, izz about that
 * centre [kg m^2], all in the axes of the tip frame. */
void {name}_payload(double mass, const double center[3], const double inertia[6], double payload[10]);"""


def _definitions(export: Export) -> str:
    name, chain = export.name, export.chain
    joints = [chain.driving_joint(i) for i in range(chain.dof)]
    slides = [joint.kind is JointKind.PRISMATIC for joint in joints]
    limits = [joint.limits for joint in joints]
    tables = [
        _texts(f"{name}_joint_names", chain.joint_names),
        _texts(f"{name}_position_units", ["m" if slide else "rad" for slide in slides]),
        _texts(f"{name}_effort_units", ["N" if slide else "N m" for slide in slides]),
        _numbers(f"{name}_lower_limits", [limit.lower for limit in limits]),
        _numbers(f"{name}_upper_limits", [limit.upper for limit in limits]),
        _numbers(f"{name}_velocity_limits", [limit.velocity for limit in limits]),
        _numbers(f"{name}_effort_limits", [limit.effort for limit in limits]),
        _numbers(f"{name}_default_gravity", export.gravity.tolist()),
        _numbers(f"{name}_no_payload", [0.0] * 10),
        _numbers(f"{name}_default_friction", friction_vector(chain).tolist()),
        _numbers(f"{name}_no_friction", [0.0] * (2 * chain.dof)),
    ]
    constants = "\n".join(tables)
    return f"""{constants}

void {name}_payload(double mass, const double center[3], const double inertia[6], double payload[10])
{{
    const double x = center[0], y = center[1], z = center[2];
    const double about[10] = {{
        mass, mass * x, mass * y, mass * z,
        inertia[0] + mass * (y * y + z * z), inertia[1] - mass * x * y, inertia[3] + mass * (x * x + z * z),
        inertia[2] - mass * x * z, inertia[4] - mass * y * z, inertia[5] + mass * (x * x + y * y)}};
    for (int i = 0; i < 10; ++i) {{
        payload[i] = about[i];
    }}
}}
"""


def _texts(name: str, values: Sequence[str]) -> str:
    entries = ", ".join(json.dumps(escaped(value)) for value in values)
    return f"const char *const {name}[{len(values)}] = {{{entries}}};"


def _numbers(name: str, values: Sequence[float]) -> str:
    return f"const double {name}[{len(values)}] = {{{', '.join(map(_number, values))}}};"


def _number(value: float) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return repr(float(value))


def _tables(export: Export, inputs: Sequence[str]) -> str:
    """Inputs of inverse dynamics and what they must give, as C."""
    rows: dict[str, list[list[float]]] = {name: [] for name in (*inputs, "expected")}
    rng = np.random.default_rng(0)
    for index in range(_STATES):
        values, load = _state(export, rng), _load(rng, 2.0 * (index % 2))
        everything = {**values, "payload": body_parameters(load), "expected": _expected(export, values, load)}
        for name, row in rows.items():
            row.append(everything[name].tolist())
    return "\n".join(
        f"static const double {name}[STATES][{len(table[0])}] = {{\n"
        + "".join(f"    {{{', '.join(map(_number, row))}}},\n" for row in table)
        + "};"
        for name, table in rows.items()
    )


def _state(export: Export, rng: np.random.Generator) -> dict[str, Array]:
    n = export.chain.dof
    return {
        **{name: rng.uniform(-1.0, 1.0, n) for name in ("q", "qd", "qdd")},
        "wrench": rng.uniform(-1.0, 1.0, 6),
        "gravity": export.gravity + rng.uniform(-5.0, 5.0, 3),
        "friction": friction_vector(export.chain) + rng.uniform(0.0, 1.0, 2 * n),
    }


def _load(rng: np.random.Generator, mass: float) -> RigidBody:
    spread = np.diag(rng.uniform(0.0, 0.01, 3))
    return RigidBody(mass, rng.uniform(-0.2, 0.2, 3), np.trace(spread) * np.eye(3) - spread)


def _expected(export: Export, values: Mapping[str, Array], load: RigidBody) -> Array:
    """Efforts by Newton and Euler on the chain with the payload lumped in, and friction as numbers."""
    chain = export.chain
    last = chain.joints[-1]
    body = lumped_body((last.body, moved_body(load, chain.tip_transform)))
    chain = replace(chain, joints=(*chain.joints[:-1], replace(last, body=body)))
    model = SerialModel.from_chain(chain, values["gravity"])
    wrench = values["wrench"] if export.wrench else None
    qd, (damping, coulomb) = values["qd"], np.split(values["friction"], 2)
    friction = DriveFriction.plain(damping, coulomb).effort(qd)
    return np.asarray(newton_euler(model, values["q"], qd, values["qdd"], wrench) + friction)
