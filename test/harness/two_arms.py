"""A robot with a torso that turns and two arms of two joints: the tree that tests control."""


def _link(name: str, mass: float, center: str) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{center}"/><mass value="{mass}"/>'
        '<inertia ixx="0.02" ixy="0.001" ixz="-0.001" iyy="0.03" iyz="0.002" izz="0.025"/></inertial></link>'
    )


def _joint(name: str, parent: str, child: str, origin: str, axis: str, effort: float = 60.0) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin {origin}/><axis xyz="{axis}"/>'
        f'<limit lower="-3" upper="3" effort="{effort:g}" velocity="5"/></joint>'
    )


def _arm(side: str, y: float) -> str:
    return "".join(
        [
            _link(f"{side}_upper", 2.0, "0.02 0.01 -0.15"),
            _link(f"{side}_fore", 1.0, "0.1 0 -0.05"),
            f'<link name="{side}_hand"/>',
            _joint(f"{side}_shoulder", "torso", f"{side}_upper", f'xyz="0 {y} 0.4" rpy="0.2 0 0.1"', "0 1 0"),
            _joint(f"{side}_elbow", f"{side}_upper", f"{side}_fore", 'xyz="0 0 -0.3"', "0 0.6 0.8"),
            f'<joint name="{side}_wrist" type="fixed"><parent link="{side}_fore"/>'
            f'<child link="{side}_hand"/><origin xyz="0.2 0 -0.1"/></joint>',
        ]
    )


TWO_ARMS = (
    '<robot name="two_arms"><link name="base"/>'
    + _link("torso", 6.0, "0.05 0 0.2")
    + _joint("waist", "base", "torso", 'xyz="0 0 0.5" rpy="0 0.3 0"', "0 0 1", 120.0)
    + _arm("left", 0.25)
    + _arm("right", -0.25)
    + "</robot>"
)
JOINTS = ["waist", "left_shoulder", "left_elbow", "right_shoulder", "right_elbow"]
TIPS = ["left_hand", "right_hand"]
