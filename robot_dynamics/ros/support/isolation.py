"""Nodes that reach this host only, whatever the network is like: what every run of this package is in.

``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`` alone is not enough where rmw_fastrtps serves. It makes transports
of its own then, whose sockets listen on every interface, and whose shared memory may wait for a third of a
second, while no message leaves, when another process joins (eProsima/Fast-DDS#6535).
A profile gives it better ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from robot_dynamics.resources import resource

# What could lead a node to other machines, or away from the profile, whatever its domain is.
_ELSEWHERE = frozenset(
    {
        "ROS_STATIC_PEERS",
        "ROS_DISCOVERY_SERVER",
        "ROS_LOCALHOST_ONLY",
        "FASTRTPS_DEFAULT_PROFILES_FILE",
        "FASTDDS_DEFAULT_PROFILES_FILE",
        "FASTDDS_ENVIRONMENT_FILE",
        "CYCLONEDDS_URI",
        "ZENOH_SESSION_CONFIG_URI",
    }
)
TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
SOCKETS = "UDPv4"
"""Its value for no shared memory, which a SIGKILL may leave such that what is started again stays deaf."""


def this_host_only(variables: Mapping[str, str]) -> dict[str, str]:
    """The same environment, such that nodes in it exchange messages on this host alone.

    Args:
        variables: of a process; with ``FASTDDS_BUILTIN_TRANSPORTS=UDPv4`` there is no shared memory.

    Raises:
        RobotDynamicsError: the profile of Fast DDS is not where the package's files are.
    """
    own = {name: value for name, value in variables.items() if name not in _ELSEWHERE}
    if not _middleware(variables).startswith("rmw_fastrtps"):
        return {**own, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    kind = "sockets" if variables.get(TRANSPORTS) == SOCKETS else "shared_memory"
    profile = str(resource(f"config/this_host_by_{kind}.xml"))
    return {
        **own,
        # LOCALHOST would add its own transports to those of the profile.
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
        "FASTRTPS_DEFAULT_PROFILES_FILE": profile,
        "FASTDDS_DEFAULT_PROFILES_FILE": profile,  # its name from Fast DDS 3 on
        "SKIP_DEFAULT_XML_FILE": "1",  # of the working directory
    }


def stay_on_this_host() -> None:
    """Let the contexts of this process reach this host only.

    Fast DDS reads profiles once, for the first context of a process: call it before.
    """
    isolated = this_host_only(os.environ)
    for name in _ELSEWHERE - isolated.keys():
        os.environ.pop(name, None)
    os.environ.update(isolated)


def _middleware(variables: Mapping[str, str]) -> str:
    """Name of the ROS middleware in an environment; empty where there is no ROS."""
    if chosen := variables.get("RMW_IMPLEMENTATION"):
        return chosen
    try:
        from rclpy.utilities import get_rmw_implementation_identifier
    except ImportError:
        return ""
    return str(get_rmw_implementation_identifier())
