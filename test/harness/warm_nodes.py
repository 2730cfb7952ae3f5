"""All that nodes import, loaded once: the server that nodes are forked from imports this module."""

import contextlib
import gc
import importlib

MODULES = (
    *("pytest", "rclpy.lifecycle", "rclpy.executors", "sensor_msgs.msg", "trajectory_msgs.msg"),
    *("service_msgs.msg", "type_description_interfaces.msg", "rosidl_generator_py", "cffi.cparser", "mujoco"),
    *(
        f"robot_dynamics.ros.{node}"
        for node in (
            *("computed_torque_controller", "simulator", "stewart_platform", "trajectory_feedforward"),
            *("robot_model", "markers", "control.native.library"),
        )
    ),
    *("robot_dynamics.simulation.arm", "robot_dynamics.simulation.stewart"),
)

for _name in MODULES:
    with contextlib.suppress(ImportError):
        _module = importlib.import_module(_name)
        if _name.endswith("native.library"):
            _module.ffi()
# A collection in a node needs not look at what all nodes share.
gc.collect()
gc.freeze()
