"""Runs a node under an rclpy that lacks what the hot loop takes; the variable MISSING says what."""

import importlib
import os
import sys
from types import SimpleNamespace

from robot_dynamics.ros.support import hot_loop

LACKING = {
    "WaitSet": ("rclpy_implementation", SimpleNamespace()),
    "CallbackType": ("Subscription", SimpleNamespace()),
    "arguments": ("rclpy_implementation", SimpleNamespace(WaitSet=lambda: None)),
}

if __name__ == "__main__":
    setattr(hot_loop, *LACKING[os.environ["MISSING"]])
    sys.exit(importlib.import_module(f"robot_dynamics.ros.{os.environ['NODE']}").main())
