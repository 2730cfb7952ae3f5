"""A motion shown in the browser before it is sent: the arm plays it, without masses, from where it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.identification.excitation.approach import approach
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.points import Points
from robot_dynamics.ros.live.arm import ArmExhibit
from robot_dynamics.ros.live.session import Progress, SessionOptions, show
from robot_dynamics.ros.support.trajectories import points_message
from robot_dynamics.view.mesh_files import unreadable
from robot_dynamics.view.robot_geometry import read_robot
from robot_dynamics.view.subject import ArmOptions, arm_subject, description_text
from robot_dynamics.view.tour import Tour


class MotionExhibit(ArmExhibit):
    """An arm whose tour is a motion."""

    motion: Points

    def _message(self) -> JointTrajectory:
        return points_message(self.motion)


def show_motion(path: Path, options: ArmOptions, points: Points, bounds: Bounds, progress: Progress) -> None:
    """Play a motion once on a page of its own; returns when it is over.

    Args:
        path: of the description.
        options: which chain of it.
        points: the motion; it is gone to from rest.
        bounds: of the way there.
        progress: called with the share that is done.
    """
    subject = arm_subject(description_text(path, {}), options)
    way = approach(points.joint_names, subject.start, points.positions[0], bounds, None)
    motion = points.after(way)
    tour = Tour(motion.time, motion.positions, {})
    folder = str(path.resolve().parent)
    geometry = read_robot(subject.text, Path(folder), unreadable)
    exhibit = MotionExhibit(replace(subject, kinematic=True, tour=tour), options, geometry, folder)
    exhibit.motion = motion
    show(exhibit, SessionOptions(tour=True, leave=True), lambda text: print(text, flush=True), progress)
