"""Input of the generator, and the arrays that a program takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.program import Argument
from robot_dynamics.dynamics.base_parameters import base_parameters
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.limbs import alike_limbs
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.payload import payload_pseudo
from robot_dynamics.dynamics.generator.recursion import RecursionState
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.generator.vectors import Tensor, Vector, add
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.chain import JointKind
from robot_dynamics.spatial import Array

_UNITS: Mapping[JointKind, Mapping[str, str]] = {
    JointKind.REVOLUTE: {
        "position": "rad",
        "velocity": "rad/s",
        "acceleration": "rad/s^2",
        "effort": "N m",
    },
    JointKind.PRISMATIC: {"position": "m", "velocity": "m/s", "acceleration": "m/s^2", "effort": "N"},
}


@dataclass(frozen=True)
class Sizes:
    """Numbers that the shapes of arrays depend on.

    Attributes:
        joints: number n of coordinates.
        links: number m of moving links; more than n where joints mimic others.
        tips: number of tips.
        count_base: gives the number b of base parameters.
        options: of the quantity, as programs know them.
        measured: number m of measured joints.
    """

    joints: int
    links: int
    tips: int
    count_base: Callable[[], int]
    options: Mapping[str, str] = field(default_factory=dict)
    measured: int = 0

    @property
    def base(self) -> int:
        """Number b of base parameters; found by going through the robot, so only where it is needed."""
        return self.count_base()


@dataclass(frozen=True)
class InputArray:
    """An array that a quantity takes.

    Attributes:
        name: as an argument and in generated code.
        description: with units; {position}, {velocity}, {acceleration} and {effort} are those of the joints.
        size: number of entries.
        per_joint: whether the entries are the joints', in their order.
    """

    name: str
    description: str
    size: Callable[[Sizes], int] = lambda sizes: sizes.joints
    per_joint: bool = True


Q = InputArray("q", "joint positions [{position}]")
QD = InputArray("qd", "joint velocities [{velocity}]")
QDD = InputArray("qdd", "joint accelerations [{acceleration}]")
TAU = InputArray("tau", "joint efforts [{effort}]")
WRENCH = InputArray(
    "wrench",
    "[force, torque] that the arm exerts on its environment at each tip, in the tip frame [N, N m]",
    lambda sizes: 6 * sizes.tips,
    per_joint=False,
)
GRAVITY = InputArray(
    "gravity", "acceleration of free fall in the root frame [m/s^2]", lambda _: 3, per_joint=False
)


PAYLOAD = InputArray(
    "payload",
    "body at each tip: mass [kg], first moment (3) [kg m] and inertia xx, xy, yy, xz, yz, zz [kg m^2] about"
    " the tip frame's origin, in its axes",
    lambda sizes: 10 * sizes.tips,
    per_joint=False,
)
FRICTION = InputArray(
    "friction",
    "viscous friction of every joint [effort per velocity], then Coulomb friction of every joint [{effort}]",
    lambda sizes: 2 * sizes.joints,
    per_joint=False,
)
MEASURED = InputArray(
    "measured",
    "positions, then velocities, then accelerations of the measured joints [rad or m, and their rates]",
    lambda sizes: 3 * sizes.measured,
    per_joint=False,
)
"""Of every quantity of a robot with measured joints."""


def described(text: str, kinds: Iterable[JointKind] = JointKind) -> str:
    """A description with the units of joints of these ``kinds``."""
    present = set(kinds)
    units = [units for kind, units in _UNITS.items() if kind in present]
    return text.format_map({key: " or ".join(unit[key] for unit in units) for key in units[0]})


@dataclass(frozen=True)
class Request:
    """Specification of a program to be generated.

    Attributes:
        model: the robot, its frame 0 placed by ``SerialModel.rebased``.
        links: the same as the generator sees it.
        more: the inputs besides the states, in the order in which programs take them.
        objective: what the search makes small.
        effort: of the search.
        choices: taken instead of a search.
        options: what the quantity's options are set to, as `Option.read` gives it.
        own: coordinates of the model that are the robot's, where the others are measured joints; None: all.
    """

    model: SerialModel
    links: tuple[GeneratorLink, ...]
    more: tuple[InputArray, ...]
    objective: Objective
    effort: str
    choices: Choices | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    own: tuple[int, ...] | None = None

    @property
    def sizes(self) -> Sizes:
        """Of the robot."""
        joints = self.model.dof if self.own is None else len(self.own)
        return self._sizes(joints, self.model.dof - joints)

    @property
    def traced_sizes(self) -> Sizes:
        """The same, of what is traced: with measured joints among the others."""
        return self._sizes(self.model.dof, 0)

    def alike_inputs(self, arguments: Sequence[Argument]) -> list[list[list[int]]]:
        """Of groups of limbs that are alike, the input scalars of every limb among those of ``arguments``.

        There are none where joints are measured.
        """
        return [
            [self._inputs_of(limb, arguments) for limb in limbs]
            for limbs in (alike_limbs(self.links) if self.own is None else ())
        ]

    def _inputs_of(self, limb: Sequence[int], arguments: Sequence[Argument]) -> list[int]:
        """Numbers of the input scalars that belong to the joints and tips of a limb."""
        n = self.model.dof
        joints = list(dict.fromkeys(self.links[index].coordinate for index in limb))
        tips = [k for index in limb for k, (link, _) in enumerate(self.model.tips) if link == index]
        rows = {WRENCH.name: (tips, 6), PAYLOAD.name: (tips, 10)}
        rows[FRICTION.name] = [*joints, *(n + joint for joint in joints)], 1
        arrays = {array.name: array for array in (*self.more, Q, QD, QDD, TAU)}
        numbers, first = list[int](), 0
        for argument in arguments:
            if arrays[argument.name].per_joint:
                numbers += [first + joint for joint in joints]
            else:
                places, size = rows.get(argument.name, ((), 0))
                numbers += [first + size * place + k for place in places for k in range(size)]
            first += argument.size
        return numbers

    def _sizes(self, joints: int, measured: int) -> Sizes:
        any_gravity = GRAVITY in self.more

        def count_base() -> int:
            return len(base_parameters(self.model, any_gravity=any_gravity).names)

        model = self.model
        return Sizes(joints, len(model.links), len(model.tips), count_base, self.options, measured)


class Inputs:
    """The inputs of one program, declared in a graph of its own.

    Attributes:
        graph: the graph.
        gravity: (3,) in frame 0: an input, or the model's.
        payloads: (4, 4) pseudo-inertia of what a link carries at its tips, about its frame's origin, by the
            link's index.
    """

    def __init__(self, request: Request, *states: InputArray) -> None:
        """Declare the ``states``, then what is requested besides."""
        self.graph = ExpressionGraph()
        self._request = request
        self._arrays: dict[str, tuple[Expression, ...]] = {}
        self._wrenches: dict[int, tuple[Vector, Vector]] = {}
        self.payloads: dict[int, Tensor] = {}
        for array in (*states, *request.more):
            size, description = array.size(request.sizes), described(array.description)
            self._arrays[array.name] = self.graph.input(array.name, size, description)
            if array is WRENCH:
                self._take_wrenches()
        if request.own is not None:
            self._take_measured(states)
        if PAYLOAD.name in self._arrays:
            self._take_payloads()
        if GRAVITY.name in self._arrays:
            rotation = _snapped(request.model.base[:3, :3].tolist())
            root = self._arrays[GRAVITY.name]
            self.gravity = [_dot([row[i] for row in rotation], root) for i in range(3)]
        else:
            self.gravity = [self.graph.expression(x) for x in request.model.gravity.tolist()]

    def __getitem__(self, name: str) -> tuple[Expression, ...]:
        """An array by its name; zeros, one for each joint, where it is not declared."""
        if name in self._arrays:
            return self._arrays[name]
        return tuple(self.graph.expression(0.0) for _ in range(self._request.model.dof))

    def state(self) -> RecursionState:
        """The state with the arrays that were declared; the others are zero."""
        arrays = self["q"], self["qd"], self["qdd"]
        return RecursionState(*arrays, self.gravity, self._wrenches, self.payloads)

    def _take_measured(self, states: Sequence[InputArray]) -> None:
        """Put positions, velocities and accelerations of the measured joints among those of the robot."""
        own, n = self._request.own or (), self._request.model.dof
        others = [i for i in range(n) if i not in own]
        if MEASURED.name not in self._arrays:
            return
        given = self._arrays[MEASURED.name]
        for k, array in enumerate((Q, QD, QDD)):
            if array in states:
                values = dict(zip(own, self._arrays[array.name], strict=True))
                values |= dict(zip(others, given[k * len(others) : (k + 1) * len(others)], strict=True))
                self._arrays[array.name] = tuple(values[i] for i in range(n))

    def friction_efforts(self) -> list[Expression]:
        """Efforts of friction; zeros where it is not declared."""
        if FRICTION.name not in self._arrays:
            return [self.graph.expression(0.0)] * self._request.model.dof
        return [law.effort(v) for law, v in zip(self._friction(), self["qd"], strict=True)]

    def friction_slopes(self) -> list[Expression]:
        """The derivative of :meth:`friction_efforts` by each joint's velocity."""
        if FRICTION.name not in self._arrays:
            return [self.graph.expression(0.0)] * self._request.model.dof
        return [law.plain_slope(v) for law, v in zip(self._friction(), self["qd"], strict=True)]

    def _friction(self) -> list[DriveFriction]:
        given, n = self._arrays[FRICTION.name], self._request.sizes.joints
        laws = [DriveFriction.plain(d, f) for d, f in zip(given[:n], given[n:], strict=True)]
        if self._request.own is None:
            return laws
        none = self.graph.expression(0.0)
        own = dict(zip(self._request.own, laws, strict=True))
        return [own.get(i, DriveFriction.plain(none, none)) for i in range(self._request.model.dof)]

    def _take_wrenches(self) -> None:
        given = self._arrays[WRENCH.name]
        for k, (link, pose) in enumerate(self._request.model.tips):
            force, moment = _tip_load(given[6 * k : 6 * k + 6], pose)
            if link in self._wrenches:
                before = self._wrenches[link]
                force, moment = add(before[0], force), add(before[1], moment)
            self._wrenches[link] = force, moment

    def _take_payloads(self) -> None:
        given = self._arrays[PAYLOAD.name]
        for k, (link, pose) in enumerate(self._request.model.tips):
            pseudo = payload_pseudo(given[10 * k : 10 * k + 10], pose)
            if link in self.payloads:
                pseudo = [add(u, v) for u, v in zip(self.payloads[link], pseudo, strict=True)]
            self.payloads[link] = pseudo


def _tip_load(given: Sequence[Expression], tip: Array) -> tuple[Vector, Vector]:
    """Force and moment of a tip's wrench about the origin and in the axes of the link that carries it."""
    rotation = _snapped(tip[:3, :3].tolist())
    p = tip[:3, 3].tolist()
    f = [_dot(row, given[:3]) for row in rotation]
    n = [_dot(row, given[3:]) for row in rotation]
    return f, [
        n[0] + (p[1] * f[2] - p[2] * f[1]),
        n[1] + (p[2] * f[0] - p[0] * f[2]),
        n[2] + (p[0] * f[1] - p[1] * f[0]),
    ]


def _dot(constants: Sequence[float], values: Sequence[Expression]) -> Expression:
    return constants[0] * values[0] + constants[1] * values[1] + constants[2] * values[2]


def _snapped(rotation: list[list[float]]) -> list[list[float]]:
    """Entries of a rotation matrix without the rounding of quarter turns."""
    return [[0.0 if abs(x) < 1e-15 else x for x in row] for row in rotation]
