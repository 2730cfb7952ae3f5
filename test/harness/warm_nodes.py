"""All that nodes import, loaded once: the server that nodes are forked from imports this module."""

import contextlib
import gc
import importlib
import inspect
import re
import sys
from pathlib import Path

MODULES = (
    *("node_server", "pytest", "rclpy.lifecycle", "rclpy.executors"),
    *("sensor_msgs.msg", "trajectory_msgs.msg"),
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


def read_types() -> None:
    """Let cffi read the types that the modules write as text: reading one takes 2 ms in every node."""
    for name, module in list(sys.modules.items()):
        ffi = getattr(module, "ffi", None)
        if name.startswith("robot_dynamics.") and callable(ffi) and module.__file__:
            text = Path(module.__file__).read_text(encoding="utf-8")
            for written in re.findall(r'\bffi\(\)\.\w+\(\s*"([^"]+)"', text):
                with contextlib.suppress(Exception):
                    ffi().typeof(written)


read_types()
# The first line of rclpy's log looks for the file of every module.
inspect.getmodule(inspect.currentframe())
# A collection in a node needs not look at what all nodes share.
gc.collect()
gc.freeze()
