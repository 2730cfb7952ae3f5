"""Energy of springs in closed form: of joints, of a frame in root axes and in its own, and of the posture."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.control.arm import spring_energy as module
from robot_dynamics.control.arm.spring_energy import spring_energy
from robot_dynamics.control.core.library import doubles, ffi

STIFFNESS, CLIP = np.array([100.0, 40.0, 10.0]), np.array([0.1, 0.3, 0.5])
KEPT = []


def pointer(values):
    KEPT.append(doubles(np.array(values, dtype=float)))
    return KEPT[-1]


def stored(stiffness, clip, way):
    """Integral of the clipped pull."""
    total = 0.0
    for k, c, x in zip(stiffness, clip, np.abs(way), strict=True):
        total += 0.5 * k * x**2 if x <= c else 0.5 * k * c**2 + k * c * (x - c)
    return total


def joints():
    settings = ffi().new("rd_settings *")
    settings.stiffness, settings.error_clip = pointer(STIFFNESS), pointer(CLIP)
    return settings


@pytest.mark.parametrize("way", [(0.05, -0.2, 0.3), (-0.25, 0.3, -0.9), (0.1, -0.3, 0.5), (0.0, 0.0, -7.0)])
def test_joints_store_the_work_of_their_springs(way):
    position = np.array([1.0, -2.0, 0.5])
    found = spring_energy(joints(), "joint_impedance", position + way, position)
    assert found == pytest.approx(stored(STIFFNESS, CLIP, way), rel=1e-12)


FRAME_STIFFNESS = (500.0, 300.0, 200.0, 30.0, 20.0, 10.0)
FRAME_CLIP = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
POSTURE = (3.0, 4.0)


class Frames:
    """A task whose poses belong to positions; what it is asked is compared to the bit."""

    def __init__(self, **fields):
        self.task, self.poses = ffi().new("rd_task *"), {}
        kernel = ffi().callback("int(const double *const *, double *)", self.pose)
        KEPT.append((kernel, self.task))
        self.task.pose = kernel
        self.task.stiffness, self.task.error_clip = FRAME_STIFFNESS, FRAME_CLIP
        self.task.posture_stiffness = pointer(POSTURE)
        for name, value in fields.items():
            setattr(self.task, name, value)
        self.settings = SimpleNamespace(task=self.task)

    def pose(self, given, out):
        assert given[1] == ffi().NULL
        place = np.array([given[0][k] for k in range(2)])
        matrix = np.ascontiguousarray(self.poses[place.tobytes()], dtype=float)
        ffi().memmove(out, matrix, 128)
        return 1

    def at(self, place, way, turn):
        matrix = np.eye(4)
        matrix[:3, 3], matrix[:3, :3] = way, Rotation.from_rotvec(turn).as_matrix()
        self.poses[np.array(place).tobytes()] = matrix
        return matrix


HERE, THERE = np.array([0.2, -0.3]), np.array([0.5, -0.8])


@pytest.mark.parametrize("axes", [0, 1])
@pytest.mark.parametrize(
    ("way", "turn"),
    [
        ((0.05, -0.1, 0.2), (0.1, -0.2, 0.3)),
        ((0.5, 0.9, -0.7), (0.9, 0.8, -1.3)),
        ((0.05, -0.1, 0.2), (0.0, 0.0, 0.0)),
        ((-0.3, 0.02, 0.01), (1.8, 1.2, -1.9)),
    ],
)
def test_a_frame_and_the_posture_store_the_work_of_their_springs(axes, way, turn):
    """The rotation vector of the reference's pose by the arm's, in root axes or in those of the frame."""
    frames, about = Frames(axes=axes), np.array([0.4, -0.7, 0.5])
    here = frames.at(HERE, (0.3, 0.4, 0.5), about)
    frames.at(
        THERE, here[:3, 3] + way, (Rotation.from_rotvec(turn) * Rotation.from_rotvec(about)).as_rotvec()
    )
    ways = np.array([way, turn])
    if axes:
        ways = ways @ here[:3, :3]
    expected = stored(FRAME_STIFFNESS, FRAME_CLIP, np.ravel(ways))
    expected += 0.5 * (3.0 * 0.3**2 + 4.0 * 0.5**2)
    found = spring_energy(frames.settings, "cartesian_impedance", THERE, HERE)
    assert found == pytest.approx(expected, rel=1e-9)


def test_other_modes_and_decoupled_frames_store_nothing():
    frames = Frames()
    frames.at(HERE, (0.3, 0.4, 0.5), (0.0, 0.0, 0.0))
    frames.at(THERE, (0.4, 0.4, 0.5), (0.0, 0.0, 0.0))
    assert spring_energy(frames.settings, "cartesian_impedance", THERE, HERE) > 1.0
    for mode in ("computed_torque", "hand_guiding", "gravity_compensation"):
        assert spring_energy(frames.settings, mode, THERE, HERE) == 0.0
    assert spring_energy(Frames(decoupled=1).settings, "cartesian_impedance", THERE, HERE) == 0.0
    assert spring_energy(SimpleNamespace(task=ffi().NULL), "cartesian_impedance", THERE, HERE) == 0.0
    assert module.TOLD == 0.05


def test_a_frame_at_its_reference_stores_nothing():
    frames = Frames()
    frames.at(HERE, (0.3, 0.4, 0.5), (0.7, -0.2, 0.1))
    assert spring_energy(frames.settings, "cartesian_impedance", HERE, HERE) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("turn", [0.0, np.pi])
def test_rotations_with_errors_of_rounding_have_an_angle(turn):
    """Their traces are beyond 3 or below -1 by 1e-12."""
    frames = Frames()
    frames.at(HERE, (0.3, 0.4, 0.5), (0.0, 0.0, 0.0))
    there = frames.at(THERE, (0.3, 0.4, 0.5), (0.0, 0.0, turn))
    there[:3, :3] *= 1.0 + 1e-12
    expected = stored(FRAME_STIFFNESS, FRAME_CLIP, (0.0, 0.0, 0.0, 0.0, 0.0, turn))
    expected += 0.5 * (3.0 * 0.3**2 + 4.0 * 0.5**2)
    found = spring_energy(frames.settings, "cartesian_impedance", THERE, HERE)
    assert found == pytest.approx(expected, rel=1e-9)
