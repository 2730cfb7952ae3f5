"""Small robot descriptions, written out so that a test shows what it is about."""

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)
LIMIT = '<limit lower="-2" upper="2" effort="10" velocity="3"/>'


def link(name: str, inertial: str = INERTIAL) -> str:
    """A link; without ``inertial`` it has no mass."""
    return f'<link name="{name}">{inertial}</link>'


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    xyz: str = "0 0 0.3",
    rpy: str = "0 0 0",
    axis: str | None = "0 0 1",
    limit: str = LIMIT,
    extra: str = "",
) -> str:
    """A joint."""
    axis_tag = "" if axis is None else f'<axis xyz="{axis}"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{axis_tag}{limit if kind != "fixed" else ""}{extra}</joint>'
    )


def robot(*parts: str) -> str:
    """A description made of links and joints."""
    return '<?xml version="1.0"?>\n<robot name="sample">' + "".join(parts) + "</robot>"


def two_joint_arm(*more: str) -> str:
    """ground -(shoulder)- upper -(elbow)- fore, and whatever else is given."""
    return robot(
        link("ground", ""),
        link("upper"),
        link("fore"),
        joint("shoulder", "ground", "upper"),
        joint("elbow", "upper", "fore", axis="0 1 0"),
        *more,
    )
