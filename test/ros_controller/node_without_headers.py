"""The controller on an installation of rcl without its headers."""

import sys
from pathlib import Path

from robot_dynamics.ros import computed_torque_controller
from robot_dynamics.ros.control.native import library

loaded_library = library.loaded_library


def elsewhere(name):
    return Path("/nowhere") / loaded_library(name).name


if __name__ == "__main__":
    library.loaded_library = elsewhere
    sys.exit(computed_torque_controller.main())
