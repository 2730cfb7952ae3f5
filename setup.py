"""Package definition for both worlds: colcon (ament_python) and pip."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.develop import develop
from setuptools.command.install import install

PACKAGE = "robot_dynamics"
VERSION = re.search(r'^__version__ = "(.*)"$', Path(PACKAGE, "__init__.py").read_text(encoding="utf-8"), re.M)
ROS_WHEELS = [
    "ros-jazzy-rclpy[fastrtps]",
    *(
        f"ros-jazzy-{name}-msgs"
        for name in (
            "sensor",
            "trajectory",
            "geometry",
            "std",
            "visualization",
            "diagnostic",
            "lifecycle",
        )
    ),
    "ros-jazzy-std-srvs",
]
# The formatter and the type checker are pinned: another version would judge the same code differently.
TEST_TOOLS = [
    "ruff==0.17.5",
    "mypy==2.4.1",
    "types-PyYAML",
    "pytest>=8,<9",
    "pytest-xdist>=3,<4",
    "pytest-rerunfailures>=16,<17",
    "hypothesis>=6.100,<7",
    # It has wheels for these alone.
    "atheris>=3,<4; platform_system == 'Linux' and python_version >= '3.11' and python_version < '3.14'",
    "pycparser>=2.21,<4",
    "jinja2>=3.1,<4",
    "sympy>=1.12,<2",
    "pin>=3,<5",
    "example-robot-data",
    "xacro",
    "colcon-common-extensions",
    "selenium>=4,<5",
    "shtab>=1.7,<2",
    "cmake>=3.20,<5",
    "casadi>=3.6,<4",
]
# It makes the mutants; another version would draw another sample from the same seed.
MUTATION_TOOLS = ["cosmic-ray==8.7.0", "coverage==7.17.5"]
# The last series of each that Python 3.10 has too. rosdoc2 takes no newer docutils.
DOCS_TOOLS = [
    "sphinx>=8.1,<8.3",
    "myst-parser>=4,<6",
    "furo==2025.12.19",
    "docutils>=0.20,<0.22",
]
# colcon calls this file by these commands, pip by others.
BY_COLCON = not {"install", "develop"}.isdisjoint(sys.argv)
NODES = [
    "computed_torque_controller",
    "simulator",
    "stewart_platform",
    "markers",
    "web_view",
    "robot_model",
    "contact_monitor",
    "trajectory_feedforward",
]


def share(folder: str) -> tuple[str, list[str]]:
    """Install every file of ``folder`` into the package's share directory."""
    files = [str(path) for path in sorted(Path(folder).glob("*")) if path.is_file()]
    return (f"share/{PACKAGE}/{folder}", files)


def long_description() -> str:
    """The README without its pictures, whose files are not on the page of a package index."""
    # `colcon build --symlink-install` runs a link to this file in the build folder, which has no README.
    readme = Path(__file__).resolve().with_name("README.md")
    lines = readme.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("!["))


def build_core(folder: Path) -> None:
    """Compile the control core into a folder of the package; where there is no compiler that is one line."""
    command = [sys.executable, "-m", "robot_dynamics.control.core.build", str(folder.resolve())]
    subprocess.run(command, cwd=Path(__file__).resolve().parent, check=False)


def build_hosts(place: Path) -> None:
    """Compile the hosts of the core's loop for the package in ``place``, where rclpy is there.

    colcon sees it; pip's own environment for builds does not. They are linked with the core by its path.
    """
    if find_spec("rclpy") is None:
        return
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "build"]
    seen = os.pathsep.join([str(place.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": seen}
    if subprocess.run(command, cwd=place, check=False, capture_output=True, env=environment).returncode:
        print(f"{PACKAGE}: the hosts of the control loop are not built: `{PACKAGE} build` does it later")


class BuildWithCore(build_py):
    """The package's files and its compiled control core."""

    def run(self) -> None:
        super().run()
        build_core(Path("." if getattr(self, "editable_mode", False) else self.build_lib, PACKAGE, "built"))


class InstallWithHosts(install):
    """The installed package, with the hosts of its control loop."""

    def run(self) -> None:
        super().run()
        if BY_COLCON and not self.root:
            build_hosts(Path(self.install_lib))


class DevelopWithCore(develop):
    """A link to the sources, with the compiled control core and its hosts beside them."""

    def run(self) -> None:
        super().run()
        build_core(Path(PACKAGE, "built"))
        if BY_COLCON:
            build_hosts(Path())


setup(
    name=PACKAGE,
    cmdclass={"build_py": BuildWithCore, "install": InstallWithHosts, "develop": DevelopWithCore},
    version=VERSION.group(1),
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    # With this line an editable install adds the clone's folder to Python's path. Without it setuptools
    # installs a finder, which Python asks last: in the folder above a clone named robot_dynamics, Python
    # then takes the clone itself for a namespace package.
    package_dir={"": "."},
    package_data={PACKAGE: ["py.typed", "**/*.c", "**/*.cpp", "**/*.h", "**/*.j2", "**/*.in"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        share("launch"),
        share("urdf"),
        share("config"),
        share("config/drivers"),
        share("rviz"),
        share("security"),
    ],
    python_requires=">=3.10",
    install_requires=[
        "numpy>=1.26,<3",
        "transforms3d>=0.4.2,<0.5",
        "urdfdom-py>=1.2,<2",
        "PyYAML>=6,<7",
        "tqdm>=4.66,<5",
        "cffi>=1.15,<3",
    ],
    extras_require={
        "ros": ROS_WHEELS,
        "simulation": ["mujoco>=3.2,<5"],
        "plots": ["matplotlib>=3.7,<4"],
        "view": ["viser>=1.1,<2", "pycollada>=0.8", "xacro>=2,<3"],
        "report": ["matplotlib>=3.7,<4", "jinja2>=3.1,<4", "sympy>=1.12,<2"],
        "identification": [
            "rosbags>=0.10,<0.12",
            "scipy>=1.11,<2",
            "cvxpy>=1.5,<2",
            "clarabel>=0.9,<0.12",
            "matplotlib>=3.7,<4",
            "jinja2>=3.1,<4",
        ],
        "test": TEST_TOOLS,
        "mutation": MUTATION_TOOLS,
        "docs": DOCS_TOOLS,
    },
    zip_safe=False,
    maintainer="robot_dynamics maintainers",
    maintainer_email="maintainers@robot-dynamics.example",
    description=(
        "Exact inverse dynamics for serial arms and Stewart platforms, from URDF to torques, as ROS 2 nodes"
    ),
    long_description=long_description(),
    long_description_content_type="text/markdown",
    keywords=[
        "robotics",
        "dynamics",
        "URDF",
        "Denavit-Hartenberg",
        "computed torque",
        "Stewart platform",
        "ROS 2",
    ],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "robot_dynamics = robot_dynamics.cli.main:main",
            # Under colcon they go to lib/robot_dynamics, where `ros2 run` finds them; pip would put programs
            # with names such as "simulator" on everybody's path.
            *(f"{node} = robot_dynamics.ros.{node}:main" for node in NODES if BY_COLCON),
        ]
    },
)
