"""Parameter files of CRISP's controller, as parameters of a node."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.control.arm import crisp
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.driver_profile import load_driver


def take_crisp(node: Node) -> tuple[str, ...]:
    """Replace what was set for CRISP's controller by parameters of this package, with a line in the log each.

    Returns:
        The joints to which lists belong, in their order; empty where nothing was replaced.

    Raises:
        ParameterError: a parameter that cannot be honoured, or gravity compensation that contradicts the
            driver's profile.
    """
    # rclpy has no public name for what was set.
    given = getattr(node, "_parameter_overrides", {})
    if not crisp.is_crisp(list(given)):
        return ()
    own = {name: given[name].value for name in list(given) if crisp.is_its_own(name)}
    period = given["control_period"].value if "control_period" in given else 0.0
    found = crisp.translate(own, 1.0 / period if period > 0.0 else 0.0)
    for name in own:
        del given[name]
    driver = given["driver"].value if "driver" in given else ""
    if driver and load_driver(driver).carries_weight != found.values["robot_compensates_gravity"]:
        carrier = "the robot" if load_driver(driver).carries_weight else "the controller"
        raise ParameterError(
            "parameter 'use_gravity_compensation' is"
            f" {str(not found.values['robot_compensates_gravity']).lower()}, but with the driver '{driver}'"
            f" {carrier} carries the weight"
        )
    for name, value in found.values.items():
        given.setdefault(name, Parameter(name, value=value))
    for line in found.lines:
        node.get_logger().info(f"from a file of CRISP: {line}")
    return found.joints
