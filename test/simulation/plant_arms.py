"""Descriptions of small arms for the tests of the plant."""

from __future__ import annotations


def _link(name: str, mass: float, com: str, rpy: str, inertia: tuple[float, ...]) -> str:
    xx, yy, zz, xy, xz, yz = inertia
    return f"""<link name="{name}"><inertial>
      <origin xyz="{com}" rpy="{rpy}"/><mass value="{mass:g}"/>
      <inertia ixx="{xx:g}" iyy="{yy:g}" izz="{zz:g}" ixy="{xy:g}" ixz="{xz:g}" iyz="{yz:g}"/>
    </inertial></link>"""


def _joint(
    name: str, kind: str, parent: str, child: str, xyz: str, rpy: str = "0 0 0", rest: str = ""
) -> str:
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{xyz}" rpy="{rpy}"/>{rest}</joint>"""


_FAR = '<limit lower="-9" upper="9" effort="1000" velocity="100"/>'

# Three moving joints (one prismatic), bodies fixed in between, a gripper finger and a camera on the side.
ARM = f"""<robot name="arm">
  {_link("base", 5, "0 0 0", "0 0 0", (1, 1, 1, 0, 0, 0))}
  {_link("plate", 0.7, "0.02 0 0.01", "0 0 0", (0.002, 0.003, 0.004, 0, 0, 0))}
  {_link("shoulder", 1.5, "0.01 0.02 0.1", "0.1 0.2 0.3", (0.011, 0.013, 0.011, 0, 0, 0))}
  {_link("boom", 2.0, "0 0.05 0.2", "0 0 0.4", (0.04, 0.06, 0.05, 0.001, -0.002, 0.003))}
  {_link("motor", 0.9, "0 0 -0.05", "0 0 0", (0.001, 0.001, 0.001, 0, 0, 0))}
  {_link("slide", 1.1, "0 0 0.1", "0.2 0 0", (0.02, 0.02, 0.01, 0, 0.001, 0))}
  {_link("wrist", 0.6, "0.02 0.01 0.03", "0 0.5 0", (0.003, 0.004, 0.002, 0, 0, 0))}
  {_link("finger", 0.2, "0 0.01 0.04", "0 0 0", (0.0003, 0.0003, 0.0001, 0, 0, 0))}
  {_link("camera", 0.3, "0.03 0 0", "0 0 0", (0.0002, 0.0003, 0.0003, 0, 0, 0))}
  <link name="tool"/>
  {_joint("mount", "fixed", "base", "plate", "0 0 0.1", "0 0 0.7")}
  {_joint("turn", "revolute", "plate", "shoulder", "0 0 0.2", "0 0 0", '<axis xyz="0 0 1"/>' + _FAR)}
  {
    _joint(
        "lift", "revolute", "shoulder", "boom", "0 0.1 0.3", "-1.2 0.1 0", '<axis xyz="0.6 0 0.8"/>' + _FAR
    )
}
  {_joint("bolted", "fixed", "boom", "motor", "0 0 0.1", "0.3 0.2 0.1")}
  {_joint("reach", "prismatic", "boom", "slide", "0 0 0.4", "0 0.2 0", '<axis xyz="0 0 1"/>' + _FAR)}
  {_joint("roll", "revolute", "slide", "wrist", "0 0 0.2", "0.4 0 0", '<axis xyz="1 0 0"/>' + _FAR)}
  {
    _joint(
        "finger_joint",
        "prismatic",
        "wrist",
        "finger",
        "0 0 0.05",
        "0 0 0",
        '<axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="10" velocity="1"/>',
    )
}
  {_joint("pan", "revolute", "slide", "camera", "0.1 0 0", "0 0 0", '<axis xyz="0 0 1"/>' + _FAR)}
  {_joint("flange", "fixed", "wrist", "tool", "0 0.02 0.1", "0 0.3 0")}
</robot>"""

# The lower link mimics the upper one, both turn about y.
CRANK = f"""<robot name="crank">
  <link name="base"/>
  {_link("first", 1.2, "0 0 0.2", "0 0 0", (0.02, 0.02, 0.01, 0, 0, 0))}
  {_link("second", 0.8, "0 0 0.15", "0 0 0", (0.01, 0.01, 0.005, 0, 0, 0))}
  <link name="tool"/>
  {_joint("upper", "revolute", "base", "first", "0 0 0", "0 0 0", '<axis xyz="0 1 0"/>' + _FAR)}
  {
    _joint(
        "lower",
        "revolute",
        "first",
        "second",
        "0 0 0.4",
        "0 0 0",
        '<axis xyz="0 1 0"/>' + _FAR + '<mimic joint="upper" multiplier="-2" offset="0.3"/>',
    )
}
  {_joint("flange", "fixed", "second", "tool", "0 0 0.3")}
</robot>"""


def pendulum(
    mass: float | None,
    inertia: float,
    damping: float = 0.0,
    friction: float = 0.0,
    effort: float = 100.0,
    limit: float = 50.0,
) -> str:
    """One revolute joint about z through the center of mass; without ``mass`` the link has no inertial."""
    disc = '<link name="disc"/>'
    if mass is not None:
        disc = _link("disc", mass, "0 0 0", "0 0 0", (0.6 * inertia, 0.6 * inertia, inertia, 0, 0, 0))
    rest = (
        f'<axis xyz="0 0 1"/><dynamics damping="{damping}" friction="{friction}"/>'
        f'<limit lower="{-limit}" upper="{limit}" effort="{effort}" velocity="100"/>'
    )
    return f"""<robot name="pendulum"><link name="base"/>{disc}
      {_joint("swing", "revolute", "base", "disc", "0 0 0", "0 0 0", rest)}</robot>"""
