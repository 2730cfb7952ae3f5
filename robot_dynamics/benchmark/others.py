"""Other libraries, each asked for the same quantities of the same arm."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.benchmark.timing import TimedStatement
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.native.cache import cached
from robot_dynamics.native.compiler import cpu_identity
from robot_dynamics.spatial import Array

GRAVITY = (0.0, 0.0, -9.81)
# What Pinocchio's own build passes to the compiler.
PINOCCHIO_DEFINITIONS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
)


def pinocchio_statements(chain: KinematicChain, q: Array, qd: Array, qdd: Array) -> dict[str, TimedStatement]:
    """Pinocchio from Python; the results are in data.tau, data.ddq, data.M and so on."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array(GRAVITY)
    parent = 0
    for joint in chain.joints:
        kind = pin.JointModelRZ() if joint.kind is JointKind.REVOLUTE else pin.JointModelPZ()
        parent = model.addJoint(parent, kind, pin.SE3(joint.origin), joint.name)
        body = pin.Inertia(joint.body.mass, joint.body.center_of_mass, joint.body.inertia)
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    names = {"pin": pin, "model": model, "data": model.createData(), "q": q, "qd": qd, "x": qdd}
    names |= {"rnea": pin.rnea, "aba": pin.aba, "crba": pin.crba}
    names |= {"rnea_by": pin.computeRNEADerivatives, "aba_by": pin.computeABADerivatives}
    names |= {"regressor": pin.computeJointTorqueRegressor, "tip": pin.forwardKinematics}
    names |= {"jacobian": pin.computeJointJacobian, "last": parent}
    # What forwardKinematics writes to; whoever asks for it once need not look for it again.
    names["pose"] = names["data"].oMi[parent]
    return {
        "inverse_dynamics": TimedStatement("rnea(model, data, q, qd, x)", names),
        "forward_dynamics": TimedStatement("aba(model, data, q, qd, x)", names),
        "mass_matrix": TimedStatement("crba(model, data, q)", names),
        "forward_kinematics": TimedStatement("tip(model, data, q)", names),
        "forward_kinematics, (4, 4)": TimedStatement("tip(model, data, q); pose.homogeneous", names),
        "jacobian": TimedStatement("jacobian(model, data, q, last)", names),
        "regressor": TimedStatement("regressor(model, data, q, qd, x)", names),
        "inverse_dynamics_derivatives": TimedStatement("rnea_by(model, data, q, qd, x)", names),
        "forward_dynamics_derivatives": TimedStatement("aba_by(model, data, q, qd, x)", names),
    }


def mujoco_model(chain: KinematicChain) -> Any:
    """MuJoCo's model of an arm whose joint axes are the z axes."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = GRAVITY
    parent = spec.worldbody
    for joint in chain.joints:
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, joint.origin[:3, :3].ravel())
        parent = parent.add_body(name=joint.link, pos=joint.origin[:3, 3], quat=quaternion)
        inertia = joint.body.inertia
        parent.explicitinertial = True
        parent.mass, parent.ipos = joint.body.mass, joint.body.center_of_mass
        parent.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        kinds = mujoco.mjtJoint
        kind = kinds.mjJNT_HINGE if joint.kind is JointKind.REVOLUTE else kinds.mjJNT_SLIDE
        parent.add_joint(name=joint.name, type=kind, axis=[0.0, 0.0, 1.0])
    return spec.compile()


def mujoco_statement(chain: KinematicChain, q: Array, qd: Array, qdd: Array) -> TimedStatement:
    """MuJoCo's inverse dynamics from Python; the result is in data.qfrc_inverse."""
    import mujoco

    model = mujoco_model(chain)
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = q, qd, qdd
    names = {"mj_inverse": mujoco.mj_inverse, "model": model, "data": data}
    return TimedStatement("mj_inverse(model, data)", names)


def pykdl_statement(chain: KinematicChain, q: Array, qd: Array, qdd: Array) -> TimedStatement:
    """KDL's recursive Newton-Euler solver from Python; the result is in tau."""
    import PyKDL as kdl

    arm = kdl.Chain()
    for index, joint in enumerate(chain.joints):
        kind = kdl.Joint.RotZ if joint.kind is JointKind.REVOLUTE else kdl.Joint.TransZ
        following = chain.joints[index + 1].origin if index + 1 < len(chain.joints) else np.eye(4)
        if index == 0:
            arm.addSegment(kdl.Segment("base", kdl.Joint(kdl.Joint.Fixed), _kdl_frame(kdl, joint.origin)))
        # KDL gives the inertia in the segment's end frame, which is the next joint's.
        inverse = np.linalg.inv(following)
        r = inverse[:3, :3]
        center = r @ joint.body.center_of_mass + inverse[:3, 3]
        i = r @ joint.body.inertia @ r.T
        rotational = kdl.RotationalInertia(i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
        inertia = kdl.RigidBodyInertia(joint.body.mass, kdl.Vector(*center), rotational)
        frame = _kdl_frame(kdl, following)
        arm.addSegment(kdl.Segment(joint.link, kdl.Joint(joint.name, kind), frame, inertia))
    arrays = []
    for values in (q, qd, qdd):
        array = kdl.JntArray(chain.dof)
        for index, value in enumerate(values):
            array[index] = float(value)
        arrays.append(array)
    wrenches = kdl.Wrenches(arm.getNrOfSegments()) if hasattr(kdl, "Wrenches") else []
    if isinstance(wrenches, list):
        wrenches.extend(kdl.Wrench() for _ in range(arm.getNrOfSegments()))
    names = {
        "solver": kdl.ChainIdSolver_RNE(arm, kdl.Vector(*GRAVITY)),
        "q": arrays[0],
        "qd": arrays[1],
        "x": arrays[2],
        "w": wrenches,
        "tau": kdl.JntArray(chain.dof),
    }
    return TimedStatement("solver.CartToJnt(q, qd, x, w, tau)", names)


def _kdl_frame(kdl: Any, pose: Array) -> Any:
    return kdl.Frame(kdl.Rotation(*pose[:3, :3].ravel()), kdl.Vector(*pose[:3, 3]))


class PinocchioLoop:
    """C++ loops over Pinocchio, compiled on this machine from the headers of its wheel."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        """Compile it, or find what an earlier run compiled.

        Raises:
            RobotDynamicsError: no compiler or no headers, or the compiler fails.
        """
        source = files("robot_dynamics.benchmark").joinpath("pinocchio_loop.cpp").read_text(encoding="utf-8")
        folders = _pinocchio_headers()
        compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            raise RobotDynamicsError("no C++ compiler on the PATH")
        flags = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-shared", "-fPIC", "-w"]
        command = [compiler, *flags, *PINOCCHIO_DEFINITIONS, *(f"-I{folder}" for folder in folders)]

        def build(target: Path, folder: Path) -> None:
            progress("compiling a C++ loop over Pinocchio: minutes, once")
            (folder / "loop.cpp").write_text(source, encoding="utf-8")
            call = [*command, str(folder / "loop.cpp"), "-o", str(target)]
            run = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
            if run.returncode:
                lines = [line for line in run.stderr.splitlines() if "error" in line]
                raise RobotDynamicsError("\n".join([*command, *lines[:3]]))

        import pinocchio

        key = "\n".join([source, pinocchio.__version__, *command, cpu_identity()])
        self._library = ctypes.CDLL(str(cached(key, ".so", build)))
        self._library.arm_new.restype = ctypes.c_void_p

    def statement(
        self,
        chain: KinematicChain,
        states: Sequence[Array],
        out: Sequence[Array],
        function: str = "arm_rnea",
    ) -> TimedStatement:
        """A loop of the C++ source over the rows of q, qd and qdd or tau (N, n) into ``out``."""
        q = states[0]
        revolute = np.array([joint.kind is JointKind.REVOLUTE for joint in chain.joints], dtype=np.int32)
        poses = np.array([joint.origin for joint in chain.joints])
        bodies = np.array(
            [[j.body.mass, *j.body.center_of_mass, *j.body.inertia.ravel()] for j in chain.joints]
        )
        arm = self._library.arm_new(
            chain.dof, *(_address(array) for array in (revolute, poses, bodies, np.array(GRAVITY)))
        )
        arguments = [ctypes.c_void_p(arm), ctypes.c_long(len(q))]
        arguments += [_address(array) for array in (*states, *out)]
        names = {"loop": self._library[function], "arguments": arguments, "keep": (*states, *out)}
        return TimedStatement("loop(*arguments)", names, states=len(q))


def _address(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _pinocchio_headers() -> list[Path]:
    import pinocchio

    for parent in Path(pinocchio.__file__).resolve().parents:
        include = parent / "include"
        if (include / "pinocchio").is_dir():
            for eigen in (include / "eigen3", Path("/usr/include/eigen3")):
                if eigen.is_dir():
                    return [include, eigen]
            raise RobotDynamicsError(
                "no Eigen headers: pip install cmeel-eigen, or apt install libeigen3-dev"
            )
    raise RobotDynamicsError("Pinocchio's headers are not beside its Python module")
