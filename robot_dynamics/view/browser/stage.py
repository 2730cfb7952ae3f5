"""Ground, light, sky and camera."""

from __future__ import annotations

import numpy as np
import viser
from numpy.typing import NDArray

from robot_dynamics.spatial import Array

VIEW = np.radians(45.0)
"""Angle that a picture's height takes in."""
NARROW = 0.6
"""Width of a picture in heights, below which the controls are folded."""


class Stage:
    """Surroundings of a robot or platform in the scene.

    Args:
        server: the page.
        shadows: whether the machine throws one.
    """

    def __init__(self, server: viser.ViserServer, shadows: bool) -> None:
        self._server = server
        self._box: tuple[Array, Array] = np.zeros(3), np.ones(3)
        self._phones: dict[int, float] = {}
        server.on_client_connect(self._welcome)
        server.on_client_disconnect(self._forget)
        scene = server.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(enabled=False)
        scene.set_background_image(_sky(), format="png")
        scene.add_light_hemisphere(
            "/light/sky", sky_color=(240, 246, 255), ground_color=(120, 122, 130), intensity=1.1
        )
        scene.add_light_directional(
            "/light/sun",
            color=(255, 244, 228),
            intensity=1.9,
            cast_shadow=shadows,
            position=(2.0, -3.0, 4.5),
        )
        scene.add_light_directional(
            "/light/fill", color=(200, 220, 255), intensity=0.5, position=(-3.0, -1.5, 1.5)
        )
        self._ground = scene.add_grid(
            "/ground",
            width=8.0,
            height=8.0,
            cell_size=0.25,
            section_size=1.0,
            cell_color=(150, 160, 172),
            section_color=(112, 124, 140),
            plane_color=(196, 204, 214),
            plane_opacity=1.0,
            shadow_opacity=0.35 if shadows else 0.0,
        )

    def put_ground(self, height: float) -> None:
        """Height of the ground [m]."""
        self._ground.position = (0.0, 0.0, height)

    def look_at(self, low: Array, high: Array) -> None:
        """Put every camera, present and coming, where it sees a box of space, and the ground at its foot."""
        self._box = low, high
        position, center = self._aim()
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.fov = position, center, VIEW
        for client in self._server.get_clients().values():
            self._place(client)

    def _forget(self, client: viser.ClientHandle) -> None:
        self._phones.pop(client.client_id, None)

    def _place(self, client: viser.ClientHandle) -> None:
        aspect = self._phones.get(client.client_id)
        client.camera.position, client.camera.look_at = self._aim(aspect)

    def _aim(self, phone: float | None = None) -> tuple[Array, Array]:
        """Position of a camera and the point that it looks at; ``phone``: width of the picture in heights."""
        low, high = self._box
        center = 0.5 * (low + high)
        distance = 1.5 * float(np.linalg.norm(high - low)) + 0.2
        if phone:
            distance *= max(1.0, 0.8 / phone)
            # The controls cover the lower half once they are unfolded.
            center = center - [0.0, 0.0, 0.25 * distance * np.tan(0.5 * VIEW)]
        return center + distance * np.array([0.83, -0.50, 0.25]), center

    def _welcome(self, client: viser.ClientHandle) -> None:
        """Make room for the picture, where the panels leave little of it."""
        folded = False
        if client.camera.aspect < NARROW:  # before the panels are there
            self._phones[client.client_id] = client.camera.aspect
            self._place(client)
            return

        @client.camera.on_update
        def _(camera: viser.CameraHandle) -> None:
            nonlocal folded
            if not folded and camera.aspect < NARROW:
                folded = True
                client.gui.main_panel.minimize()


def _sky() -> NDArray[np.uint8]:
    """A column of colours from the zenith down to the horizon."""
    shares = np.linspace(0.0, 1.0, 64)[:, None, None]
    zenith, horizon = np.array([148.0, 174.0, 204.0]), np.array([226.0, 232.0, 239.0])
    return np.asarray((1.0 - shares) * zenith + shares * horizon, dtype=np.uint8).repeat(2, axis=1)
