"""From a robot description to a validated tree of links and joints.

``gate`` lets pass only well-formed kinematics, ``parser`` has ROS's own parser read it, ``validation`` checks
what that parser leaves open, and ``tree`` holds the result.
"""

from robot_dynamics.model.urdf.parser import parse_urdf
from robot_dynamics.model.urdf.tree import DescriptionFinding, Joint, JointType, Link, Mimic, RobotTree

__all__ = ["DescriptionFinding", "Joint", "JointType", "Link", "Mimic", "RobotTree", "parse_urdf"]
