"""Small robot descriptions, written out so that a test shows what it is about."""

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)
LABEL = "robot description: "
"""Beginning of the messages about a description that is no file."""


def inertial(mass: str = "1", origin: str = "", **moments: str) -> str:
    """A body of unit moments about its axes, except for those given."""
    values = {"ixx": "1", "ixy": "0", "ixz": "0", "iyy": "1", "iyz": "0", "izz": "1", **moments}
    attributes = " ".join(f'{key}="{value}"' for key, value in values.items())
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {attributes}/></inertial>'


POINT = {"ixx": "0", "iyy": "0", "izz": "0"}
"""Moments of a point mass."""
MASSLESS = inertial("0", **POINT)


def limited(lower: object, upper: object, effort: object, velocity: object) -> str:
    """The limits of a joint."""
    return f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>'


LIMIT = limited(-2, 2, 10, 3)


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


def with_wrist(**changes: str | None) -> str:
    """The arm with a third joint, ``wrist``, to a link ``hand``; changes are those of :func:`joint`."""
    return two_joint_arm(
        link("hand"), joint(**{"name": "wrist", "parent": "fore", "child": "hand", **changes})
    )


def with_hand(inertial: str) -> str:
    """The arm with a third link, ``hand``, of a given body."""
    return two_joint_arm(link("hand", inertial), joint("wrist", "fore", "hand"))
