"""Transports of the nodes: sockets unless the user chose, and on this host only for the package's own runs.

Fast DDS carries messages on one host by shared memory. Its senders then wait for up to 2 s after a process
died with a lock (eProsima/Fast-DDS#6117), and for 0.33 s when a process joins (eProsima/Fast-DDS#6535).
Senders on sockets do neither. Sockets lose messages on a busy host, and a reliable sender asks what has
arrived: every 3 s by default, ten times a second in the profiles of this package.

``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`` needs a profile instead of a variable: rmw_fastrtps makes
transports of its own then, shared memory among them, whose sockets listen on every interface.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.resources import resource

TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
"""Variable that chooses the transports of Fast DDS."""
SOCKETS = "UDPv4"
"""Value for sockets alone."""
DEFAULT = "DEFAULT"
"""Value for what Fast DDS does by itself: shared memory on one host, sockets to others."""
_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
_LOCALHOST = "ROS_LOCALHOST_ONLY"
_PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Variables with the path of a profile; the second is the name from Fast DDS 3 on."""
_SKIP = "SKIP_DEFAULT_XML_FILE"
_IN_WORKING_DIRECTORY = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")
_PEERS = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")
# What could lead a node to other hosts, or away from the profile, whatever its domain is.
_ELSEWHERE = frozenset(
    {
        *_PEERS,
        *_PROFILES,
        _LOCALHOST,
        "FASTDDS_ENVIRONMENT_FILE",
        "CYCLONEDDS_URI",
        "ZENOH_SESSION_CONFIG_URI",
    }
)


def socket_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables to set so that nodes exchange messages by sockets and not by shared memory.

    Discovery reaches as far as before, and what a socket lost is repeated within 0.1 s. The result is empty
    where the user has chosen: another middleware, ``FASTDDS_BUILTIN_TRANSPORTS``, or a profile of Fast DDS.
    It is also empty for the range ``LOCALHOST`` with static peers or a discovery server, which no profile of
    this package has.

    Args:
        variables: environment of the nodes.

    Raises:
        RobotDynamicsError: the profile of Fast DDS is not where the package's files are.
    """
    if not _middleware(variables).startswith("rmw_fastrtps") or _chosen(variables):
        return {}
    if variables.get(_LOCALHOST) != "1" and variables.get(_RANGE) != "LOCALHOST":
        return {TRANSPORTS: SOCKETS, **_with_profile("prompt_repair")}
    if any(variables.get(name) for name in _PEERS):
        return {}
    return {**({_LOCALHOST: ""} if _LOCALHOST in variables else {}), **_on_this_host("sockets")}


def use_sockets() -> None:
    """Let the contexts of this process use sockets, where :func:`socket_variables` says so.

    Call it before the first context of a process: Fast DDS reads its variables then.
    """
    os.environ.update(socket_variables(os.environ))


def this_host_only(variables: Mapping[str, str]) -> dict[str, str]:
    """The same environment, such that nodes in it exchange messages on this host alone.

    Args:
        variables: environment of a process. ``FASTDDS_BUILTIN_TRANSPORTS`` with another value than
            ``UDPv4`` adds shared memory to the sockets.

    Raises:
        RobotDynamicsError: the profile of Fast DDS is not where the package's files are.
    """
    own = {name: value for name, value in variables.items() if name not in _ELSEWHERE}
    if not _middleware(variables).startswith("rmw_fastrtps"):
        return {**own, _RANGE: "LOCALHOST"}
    chosen = variables.get(TRANSPORTS) or SOCKETS
    return {**own, **_on_this_host("sockets" if chosen.startswith(SOCKETS) else "shared_memory")}


def stay_on_this_host() -> None:
    """Let the contexts of this process reach this host only.

    Call it before the first context of a process: Fast DDS reads its variables then.
    """
    isolated = this_host_only(os.environ)
    for name in _ELSEWHERE - isolated.keys():
        os.environ.pop(name, None)
    os.environ.update(isolated)


def _on_this_host(kind: str) -> dict[str, str]:
    """Variables of one of the profiles whose sockets are bound to the loopback interface."""
    # LOCALHOST would add its own transports to those of the profile.
    return {_RANGE: "SYSTEM_DEFAULT", **_with_profile(f"this_host_by_{kind}")}


def _with_profile(name: str) -> dict[str, str]:
    """Variables of a profile of this package, and of no other one."""
    return {**dict.fromkeys(_PROFILES, str(resource(f"config/{name}.xml"))), _SKIP: "1"}


def _chosen(variables: Mapping[str, str]) -> bool:
    """Return whether the user has chosen the transports of Fast DDS."""
    if any(variables.get(name) for name in (TRANSPORTS, *_PROFILES)):
        return True
    return variables.get(_SKIP) != "1" and any(Path(name).exists() for name in _IN_WORKING_DIRECTORY)


def _middleware(variables: Mapping[str, str]) -> str:
    """Name of the ROS middleware in an environment; empty where there is no ROS."""
    if chosen := variables.get("RMW_IMPLEMENTATION"):
        return chosen
    try:
        from rclpy.utilities import get_rmw_implementation_identifier
    except ImportError:
        return ""
    return str(get_rmw_implementation_identifier())
