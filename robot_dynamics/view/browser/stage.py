"""Ground, light, sky and cameras."""

from __future__ import annotations

import time

import numpy as np
import viser
from numpy.typing import NDArray
from transforms3d.quaternions import quat2mat

from robot_dynamics.spatial import Array
from robot_dynamics.view.labels import Viewpoint

VIEW = np.radians(45.0)
"""Angle that a picture's height takes in."""
TOWARDS = np.array([0.83, -0.50, 0.25])
"""Direction from the middle of the picture to the camera."""
MARGIN = 1.08
"""Distance of the camera as a multiple of the least from which all links are seen: arcs reach farther."""
WIDENED = 0.1
"""Share of the box that is added where the robot leaves it: the camera moves seldom."""
NARROW = 0.6
"""Size of a robot as a share of the box's below which a box around a robot at rest is narrowed."""
AT_REST = 3.0
"""Time without motion after which a robot is at rest [s]."""
PHONE = 0.6
"""Width in heights below which a picture is taken for that of a phone, where the panels are a sheet."""
SHEET = 0.42
"""Share of a phone's height that the sheet takes."""
UNMOVED = 0.02
"""Share of the robot's size by which a camera may be off its place and still counts as unmoved."""


class CameraBox:
    """Box of space that cameras see.

    Args:
        low, high: (3,) least and greatest coordinates of the robot [m].

    Attributes:
        box: its least and greatest coordinates [m].
    """

    def __init__(self, low: Array, high: Array) -> None:
        self.box = low, high
        self._rest, self._since = self.box, -np.inf

    def include(self, low: Array, high: Array, now: float) -> tuple[Array, Array]:
        """Widen the box where the robot has left it, and narrow it around a small robot at rest.

        Args:
            low, high: (3,) of the robot [m].
            now: steady time [s].

        Returns:
            The box; the same object where nothing has changed.
        """
        inner, outer = self.box
        size, extent = float(np.linalg.norm(outer - inner)), float(np.linalg.norm(high - low))
        room = WIDENED * size
        if (low < inner - UNMOVED * room).any() or (high > outer + UNMOVED * room).any():
            inner = np.where(low < inner, low - room, inner)
            outer = np.where(high > outer, high + room, outer)
            self.box = inner, outer
        if max(np.abs(low - self._rest[0]).max(), np.abs(high - self._rest[1]).max()) > UNMOVED * room:
            self._rest, self._since = (low, high), now
        elif now - self._since > AT_REST and extent < NARROW * size:
            self.box = low - WIDENED * extent, high + WIDENED * extent
        return self.box


class Stage:
    """Surroundings of a robot or platform in the scene.

    Args:
        server: the page.
        shadows: whether the robot throws one.
    """

    def __init__(self, server: viser.ViserServer, shadows: bool) -> None:
        self._server = server
        self._camera_box = CameraBox(np.zeros(3), np.ones(3))
        self._box = self._camera_box.box
        self._seen: dict[int, tuple[tuple[int, int], float]] = {}
        self._places: dict[int, list[Array]] = {}
        server.on_client_disconnect(self._forget)
        scene = server.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(enabled=False)
        scene.set_background_image(_sky(), format="png")
        scene.add_light_hemisphere(
            "/light/sky", sky_color=(240, 246, 255), ground_color=(120, 122, 130), intensity=1.1
        )
        self._sun = scene.add_light_directional(
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

    def set_shadows(self, shadows: bool) -> None:
        """Draw shadows or not."""
        self._sun.cast_shadow = shadows
        self._ground.shadow_opacity = 0.35 if shadows else 0.0

    def look_at(self, low: Array, high: Array) -> None:
        """Put every camera, present and coming, where it sees a box of space, and the ground at its foot."""
        self._camera_box = CameraBox(low, high)
        self._box = self._camera_box.box
        camera = self._server.initial_camera
        camera.position, camera.look_at = self._aim(1.5, 0.0)
        camera.fov = VIEW
        for client in self._server.get_clients().values():
            self._place(client)

    def include(self, low: Array, high: Array) -> None:
        """Move the box of :meth:`look_at` with the robot, see :class:`CameraBox`; :meth:`fit` frames it."""
        box = self._camera_box.include(low, high, time.monotonic())
        if box is not self._box:
            self._box = box
            self._seen.clear()

    def fit(self, client: viser.ClientHandle, strip: float) -> None:
        """Frame the robot in a browser's picture whose foot is covered, unless its user has moved the camera.

        Args:
            client: the browser.
            strip: height that panels cover at the foot of the picture [pixels].
        """
        camera = client.camera
        size = (camera.image_width, camera.image_height)
        if min(size) < 1:
            return
        seen = (size, SHEET if size[0] < PHONE * size[1] else min(strip / size[1], 0.6))
        if self._seen.get(client.client_id) == seen:
            return
        self._seen[client.client_id] = seen
        # The browser may still tell one of the places before.
        near = UNMOVED * float(np.linalg.norm(self._box[1] - self._box[0]))
        known = self._places.get(client.client_id, [])
        if not known or any(np.linalg.norm(np.asarray(camera.position) - place) < near for place in known):
            self._place(client)

    @staticmethod
    def viewpoint(client: viser.ClientHandle, fineness: float) -> Viewpoint | None:
        """Viewpoint of a browser; None before it has reported one.

        Args:
            client: the browser.
            fineness: pixels of its picture per pixel of the page.
        """
        camera = client.camera
        if camera.image_height < 1:
            return None
        pose = np.eye(4)
        pose[:3, :3] = quat2mat(camera.wxyz)
        pose[:3, 3] = camera.position
        return Viewpoint(pose, 0.5 * camera.image_height / fineness / np.tan(0.5 * camera.fov))

    def _forget(self, client: viser.ClientHandle) -> None:
        self._seen.pop(client.client_id, None)
        self._places.pop(client.client_id, None)

    def _place(self, client: viser.ClientHandle) -> None:
        size, covered = self._seen.get(client.client_id, ((3, 2), 0.0))
        position, center = self._aim(size[0] / size[1], covered)
        client.camera.position, client.camera.look_at = position, center
        self._places.setdefault(client.client_id, []).append(position)

    def _aim(self, aspect: float, covered: float) -> tuple[Array, Array]:
        """Position of a camera and the point that it looks at.

        Args:
            aspect: width of the picture over its height.
            covered: share of its height, from its foot, that panels cover.
        """
        low, high = self._box
        center = 0.5 * (low + high)
        back = TOWARDS / np.linalg.norm(TOWARDS)
        side = np.cross([0.0, 0.0, 1.0], back)
        side /= np.linalg.norm(side)
        up = np.cross(back, side)
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        corners = corners * (high - low)
        half = np.tan(0.5 * VIEW)
        across = np.abs(corners @ side) / (half * aspect)
        along = np.abs(corners @ up) / (half * (1.0 - covered))
        distance = MARGIN * float((np.maximum(across, along) + corners @ back).max()) + 0.1
        # What is looked at is the middle of the picture; the robot belongs into the middle of its free part.
        center = center - covered * distance * half * up
        return center + distance * back, center


def _sky() -> NDArray[np.uint8]:
    """A column of colours from the zenith down to the horizon."""
    shares = np.linspace(0.0, 1.0, 64)[:, None, None]
    zenith, horizon = np.array([148.0, 174.0, 204.0]), np.array([226.0, 232.0, 239.0])
    return np.asarray((1.0 - shares) * zenith + shares * horizon, dtype=np.uint8).repeat(2, axis=1)
