"""Random arms and the same arms in Pinocchio."""

import numpy as np

from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain, RigidBody


def random_pose(rng):
    """(4, 4) pose, rotation and translation without special values."""
    pose = np.eye(4)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pose[:3, :3] = rotation * np.sign(np.linalg.det(rotation))
    pose[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return pose


def random_chain(rng, joints, prismatic=0.3, mimic=False):
    """An arm with full inertias; with ``mimic`` its last joint follows its first one."""
    made = []
    for i in range(joints):
        axis = rng.normal(size=3)
        root = rng.normal(size=(3, 3))
        moments = root @ root.T
        follows = mimic and i == joints - 1
        kind = JointKind.PRISMATIC if rng.random() < prismatic else JointKind.REVOLUTE
        made.append(
            ChainJoint(
                name=f"joint_{i + 1}",
                link=f"link_{i + 1}",
                kind=kind,
                origin=random_pose(rng),
                axis=axis / np.linalg.norm(axis),
                body=RigidBody(
                    mass=rng.uniform(0.5, 3.0),
                    center_of_mass=rng.uniform(-0.3, 0.3, 3),
                    inertia=0.05 * (np.trace(moments) * np.eye(3) - moments),
                ),
                coordinate=0 if follows else i,
                multiplier=-0.7 if follows else 1.0,
                offset=0.2 if follows else 0.0,
            )
        )
    names = tuple(joint.name for joint in made[: joints - mimic])
    return KinematicChain("random", "root", "tip", tuple(made), names, random_pose(rng))


class PinocchioArm:
    """An independent computation of the same quantities."""

    def __init__(self, chain, gravity=(0.0, 0.0, -9.81)):
        import pinocchio as pin

        self.pin, self.chain = pin, chain
        self.model = pin.Model()
        self.model.gravity.linear = np.array(gravity)
        parent = 0
        for joint in chain.joints:
            types = {
                JointKind.REVOLUTE: pin.JointModelRevoluteUnaligned,
                JointKind.PRISMATIC: pin.JointModelPrismaticUnaligned,
            }
            parent = self.model.addJoint(
                parent, types[joint.kind](*joint.axis), pin.SE3(joint.origin), joint.name
            )
            inertia = pin.Inertia(joint.body.mass, joint.body.center_of_mass, joint.body.inertia)
            self.model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        self.data = self.model.createData()
        # Joint variables are a linear map of the coordinates, plus offsets.
        self.map = np.zeros((len(chain.joints), chain.dof))
        for row, joint in enumerate(chain.joints):
            self.map[row, joint.coordinate] = joint.multiplier
        self.offset = np.array([joint.offset for joint in chain.joints])

    def loads(self, wrench):
        """Pinocchio's external forces for a wrench that the arm exerts at its tip."""
        forces = self.pin.StdVec_Force()
        for _ in range(len(self.chain.joints) + 1):
            forces.append(self.pin.Force.Zero())
        if wrench is not None:
            forces[len(self.chain.joints)] = self.pin.SE3(self.chain.tip_transform).act(
                self.pin.Force(-np.asarray(wrench))
            )
        return forces

    def inverse_dynamics(self, q, qd, qdd, wrench=None):
        values = (self.map @ q + self.offset, self.map @ qd, self.map @ qdd)
        return self.map.T @ self.pin.rnea(self.model, self.data, *values, self.loads(wrench))

    def gravity(self, q):
        zero = np.zeros(self.chain.dof)
        return self.inverse_dynamics(q, zero, zero)

    def coriolis(self, q, qd):
        return self.inverse_dynamics(q, qd, np.zeros(self.chain.dof)) - self.gravity(q)

    def mass_matrix(self, q):
        full = self.pin.crba(self.model, self.data, self.map @ q + self.offset)
        full = np.triu(full) + np.triu(full, 1).T
        return self.map.T @ full @ self.map

    def forward_dynamics(self, q, qd, tau, wrench=None):
        bias = self.inverse_dynamics(q, qd, np.zeros(self.chain.dof), wrench)
        return np.linalg.solve(self.mass_matrix(q), tau - bias)

    def tip_velocity(self, q, qd):
        """[linear, angular] velocity of the tip in the tip frame."""
        values = (self.map @ q + self.offset, self.map @ qd)
        self.pin.forwardKinematics(self.model, self.data, *values)
        return self.pin.SE3(self.chain.tip_transform).actInv(self.data.v[len(self.chain.joints)]).vector
