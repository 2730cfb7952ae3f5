"""The motion of every link in its own frame, without runs: what several quantities start from."""

from __future__ import annotations

from robot_dynamics.dynamics.generator.frame_kinematics import Steps
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.motion import AngularMotion, at_rest, enter, own_motion
from robot_dynamics.dynamics.generator.recursion import RecursionState
from robot_dynamics.dynamics.generator.runs import joint_variable
from robot_dynamics.dynamics.generator.vectors import Vector, add, along_a, scaled, to_entry, to_turned
from robot_dynamics.spatial import cross_entries


class Motions:
    """The motion of every link in its own frame.

    Attributes:
        steps: from link to link.
        motions: angular motion.
        origins: acceleration of the origin, less gravity.
        arm_rates: rate of the origin's position from that of the link before, in the axes of ``steps.arms``.
    """

    def __init__(self, links: tuple[GeneratorLink, ...], state: RecursionState, *, composed: bool) -> None:
        """Carry the motion from link to link."""
        self.links = links
        self.state = state
        self.graph = state.q[0].graph
        self.zero = self.graph.expression(0.0)
        self.steps = Steps(self.graph, links, state.q, composed=composed)
        self.motions: list[AngularMotion] = []
        self.origins: list[Vector] = []
        self.arm_rates: list[Vector] = []
        for index in range(len(links)):
            self._advance(index)

    def _advance(self, index: int) -> None:
        """Motion of link ``index`` from that of the link before."""
        link, arm, turn = self.links[index], self.steps.arms[index], self.steps.turns[index]
        motion, origin = at_rest(self.graph), scaled(-1.0, self.state.gravity)
        if link.parent >= 0:
            motion, origin = self.motions[link.parent], self.origins[link.parent]
        entry = enter(link, motion, link.y_shift != 0.0)
        origin = to_entry(link, add(origin, scaled(link.a, along_a(link, motion.b))))
        if link.y_shift:
            assert entry.b is not None
            origin = add(origin, scaled(link.y_shift, [row[1] for row in entry.b]))
        origin = add(origin, scaled(arm[2], entry.column))
        arm_rate = cross_entries(entry.velocity, arm)
        rate = acceleration = self.zero
        if link.revolute:
            rate, acceleration = joint_variable(link, self.state.qd), joint_variable(link, self.state.qdd)
        else:
            speed = joint_variable(link, self.state.qd)
            arm_rate[2] = arm_rate[2] + speed
            twice, w = 2.0 * speed, entry.velocity
            sliding = [twice * w[1], -(twice * w[0]), joint_variable(link, self.state.qdd)]
            origin = add(origin, sliding)
        self.motions.append(
            own_motion(entry, *turn, rate, acceleration, column=link.quarter_turn, square_x=True)
        )
        self.origins.append(to_turned(*turn, origin))
        self.arm_rates.append(arm_rate)
