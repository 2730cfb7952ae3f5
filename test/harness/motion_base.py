"""A motion base of 1500 kg, and a small hexapod for a desk, for tests."""

import numpy as np
import yaml

from robot_dynamics import stewart
from robot_dynamics.resources import resource
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector


def machine(base, top, lengths, height, mass, force, speed, leg_mass, condition=30.0):
    """A symmetric hexapod as its file would tell it."""
    legs = []
    for k in range(6):
        middle = 120.0 * (k // 2)
        side = 1.0 if k % 2 == 0 else -1.0
        at, to = np.radians([middle + side * 10.0, middle + side * 50.0])
        legs.append(
            {
                "name": f"leg_{k + 1}",
                "base_point": [base * float(np.cos(at)), base * float(np.sin(at)), 0.0],
                "universal_axis": [-float(np.sin(at)), float(np.cos(at)), 0.0],
                "platform_point": [top * float(np.cos(to)), top * float(np.sin(to)), 0.0],
            }
        )
    size = lengths[0]

    def rod(share, place):
        weight = share * leg_mass
        across = weight * size**2 / 40.0
        return {
            "mass": weight,
            "center_of_mass": [place * size, 0.0, 0.0],
            "inertia": [[across / 50.0, 0.0, 0.0], [0.0, across, 0.0], [0.0, 0.0, across]],
        }

    about = mass * top**2 / 4.0
    return {
        "name": "motion_base",
        "gravity": [0.0, 0.0, -9.81],
        "characteristic_length": top,
        "condition_limit": condition,
        "home": {"position": [0.0, 0.0, height], "orientation": [0.0, 0.0, 0.0, 1.0]},
        "platform": {
            "mass": mass,
            "center_of_mass": [0.0, 0.0, 0.3 * top],
            "inertia": [[about, 0.0, 0.0], [0.0, about, 0.0], [0.0, 0.0, 1.6 * about]],
        },
        "leg_defaults": {
            "base_joint": "universal",
            "lower": rod(0.75, 0.3),
            "upper": rod(0.25, -0.35),
            "friction": {"universal": 0.02, "prismatic": 0.1 * force / speed, "spherical": 0.01},
            "limits": {
                "length": lengths,
                "speed": speed,
                "force": force,
                "base_angle": 0.7,
                "platform_angle": 0.8,
            },
        },
        "legs": legs,
    }


MOTION_BASE = machine(1.6, 1.2, [1.35, 1.75], 1.159, 1500.0, 15e3, 1.0, 60.0)


def motion_base():
    """1500 kg, radii of 1.6 and 1.2 m, strokes of 0.4 m, 15 kN."""
    return stewart.load(MOTION_BASE)


MACHINE = motion_base().machine
HOME = MACHINE.home_position


def desktop():
    """3 kg, radii of 0.12 and 0.08 m, strokes of 60 mm, 60 N."""
    return stewart.load(machine(0.12, 0.08, [0.15, 0.21], 0.163, 3.0, 60.0, 0.2, 0.4))


def platform_mappings():
    """Files of platforms of 2 kg, 25 kg and 2 t, by their names."""
    demo = resource("config/stewart_demo.yaml").read_text(encoding="utf-8")
    return {
        "platform_2_kg": machine(0.12, 0.08, [0.15, 0.21], 0.163, 2.0, 60.0, 0.2, 0.4),
        "platform_25_kg": yaml.safe_load(demo),
        "platform_2_t": machine(1.6, 1.2, [1.35, 1.75], 1.159, 2000.0, 20e3, 1.0, 60.0),
    }


def lengths_at(platform, shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    """(6,) leg lengths beside home."""
    rotation = rotation_from_vector(np.array(turn)) @ platform.machine.home_rotation
    return platform.legs(
        platform.machine.home_position + np.array(shift), quaternion_from_rotation(rotation)
    ).lengths


def mix(time):
    """A sine mix of up to 0.35 m/s, which begins softly: position from home and rotation vector."""
    s = np.clip(time - 0.3, 0.0, 1.0)
    share = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    w = 2.0 * np.pi * time
    place = [
        0.04 * np.sin(0.5 * w),
        0.03 * np.sin(0.8 * w + 1.0),
        0.04 * np.sin(0.7 * w) + 0.005 * np.sin(2.0 * w),
    ]
    return share * np.array(place), share * np.array([0.02 * np.sin(0.6 * w), 0.02 * np.sin(0.9 * w), 0.0])
