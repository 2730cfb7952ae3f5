"""Craig's iterations exactly as printed, with all that they compute on the way, velocities included."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.scalar import FLOATS
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import Array


@dataclass
class Iteration:
    """Results of one run, link by link from the base, each in its own link frame.

    Attributes:
        w, v, wd, vd: angular and linear velocity and acceleration of the frame (vd with gravity).
        center: p_C, of the center of mass.
        center_acceleration: v'_C.
        force, moment: F and N, what moves the link.
        f, n: exerted by the link before.
        f_next, n_next: exerted on the next link, in its frame.
        rotation_next, p_next: R_{i+1}^i and p_{i+1}.
        tau: (n,) generalised forces.
    """

    w: list[Array] = field(default_factory=list)
    v: list[Array] = field(default_factory=list)
    wd: list[Array] = field(default_factory=list)
    vd: list[Array] = field(default_factory=list)
    center: list[Array] = field(default_factory=list)
    center_acceleration: list[Array] = field(default_factory=list)
    force: list[Array] = field(default_factory=list)
    moment: list[Array] = field(default_factory=list)
    f: list[Array] = field(default_factory=list)
    n: list[Array] = field(default_factory=list)
    f_next: list[Array] = field(default_factory=list)
    n_next: list[Array] = field(default_factory=list)
    rotation_next: list[Array] = field(default_factory=list)
    p_next: list[Array] = field(default_factory=list)
    tau: Array = field(default_factory=lambda: np.zeros(0))


def iterate(
    model: SerialModel,
    q: Array,
    qd: Array,
    qdd: Array,
    wrench: Array | None = None,
    *,
    moments_of_sliding_links: bool = True,
) -> Iteration:
    """Outward and inward iterations.

    Args:
        model: the arm.
        q, qd, qdd: (n,).
        wrench: (6,) on the environment at the origin and in the axes of the last frame.
        moments_of_sliding_links: False leaves N and n out where a joint slides, as the printed list does.
    """
    run = Iteration()
    z = np.array([0.0, 0.0, 1.0])
    w = v = wd = np.zeros(3)
    vd = -model.gravity
    rotations, places = [], []
    joints = common.joint_motions(model.links, q, qd, qdd, FLOATS)
    for link, joint in zip(model.links, joints, strict=True):
        r = common.modified_rotation(link, joint, FLOATS).T.astype(float)
        p = common.modified_displacement(link, joint, FLOATS).astype(float)
        v = r @ (v + np.cross(w, p))
        vd = r @ (vd + np.cross(wd, p) + np.cross(w, np.cross(w, p)))
        if link.revolute:
            wd = r @ wd + joint.acceleration * z + np.cross(r @ w, joint.rate * z)
            w = r @ w + joint.rate * z
        else:
            w, wd = r @ w, r @ wd
            v = v + joint.rate * z
            vd = vd + joint.acceleration * z + 2.0 * np.cross(w, joint.rate * z)
        center = link.first_moment / link.mass
        inertia = link.inertia - link.mass * (center @ center * np.eye(3) - np.outer(center, center))
        vcd = vd + np.cross(wd, center) + np.cross(w, np.cross(w, center))
        run.w.append(w)
        run.v.append(v)
        run.wd.append(wd)
        run.vd.append(vd)
        run.center.append(center)
        run.center_acceleration.append(vcd)
        run.force.append(link.mass * vcd)
        run.moment.append(inertia @ wd + np.cross(w, inertia @ w))
        rotations.append(r.T)
        places.append(p)
    _inward(
        run, model, rotations, places, np.zeros(6) if wrench is None else wrench, moments_of_sliding_links
    )
    return run


def _inward(
    run: Iteration,
    model: SerialModel,
    rotations: list[Array],
    places: list[Array],
    wrench: Array,
    complete: bool,
) -> None:
    f, n = wrench[:3], wrench[3:]
    rotation, p = np.eye(3), np.zeros(3)
    tau = []
    for i in range(len(model.links) - 1, -1, -1):
        link = model.links[i]
        run.f_next.insert(0, f)
        run.n_next.insert(0, n)
        run.rotation_next.insert(0, rotation)
        run.p_next.insert(0, p)
        rf = rotation @ f
        f = rf + run.force[i]
        if link.revolute or complete:
            n = run.moment[i] + rotation @ n + np.cross(run.center[i], run.force[i]) + np.cross(p, rf)
        else:
            n = np.zeros(3)
        run.f.insert(0, f)
        run.n.insert(0, n)
        tau.append(n[2] if link.revolute else f[2])
        rotation, p = rotations[i], places[i]
    run.tau = np.array(tau[::-1])
