"""Fineness of a browser's picture: panels are placed in pixels of the page, it is reported in its own."""

from __future__ import annotations

import viser

CONTROLS = 330
"""Width of the controls beside the picture [pixels of the page]."""
PROBE = 40
"""Width by which the controls grow for a moment [pixels of the page]."""
BELIEVED = (0.3, 4.0)
"""Least and greatest fineness that is believed."""
LOOKS = 150
"""Looks at the picture after which a probe has failed: a phone has no controls beside the picture."""
STILL = 5
"""Looks for which the picture has kept its size before it is probed."""
UNCHANGED = 2
"""Difference of two sizes that may come from rounding [pixels of the picture]."""


class Fineness:
    """Pixels of a browser's picture per pixel of the page.

    They are more than one on a fine screen, and fewer where the browser draws slowly. No message has the
    number: the controls grow for a moment, and the picture shows by how many of its pixels.

    Args:
        client: the browser.

    Attributes:
        value: the number; 1 before it is known.
    """

    def __init__(self, client: viser.ClientHandle) -> None:
        self._panel = client.gui.main_panel
        self._size = self._before = (0, 0)
        self._looks = self._still = 0
        self._found = 0.0
        self._known = False
        self.value = 1.0

    @property
    def room(self) -> float:
        """Difference of two sizes that need not matter [pixels of the picture]."""
        return BELIEVED[1] * PROBE if self._probing else UNCHANGED

    @property
    def spare(self) -> int:
        """Width beside the controls that a probe may still take [pixels of the page]."""
        return 0 if self._known else PROBE

    @property
    def still(self) -> bool:
        """Return whether the picture has kept its size for some looks."""
        return self._still >= STILL or self._known or self._looks > 0

    @property
    def _probing(self) -> bool:
        return self._looks > 0 and not self._known

    def look(self, width: int, height: int) -> None:
        """Look at the size of the picture, at equal intervals."""
        last, self._size = self._size, (width, height)
        self._still = self._still + 1 if last == self._size else 0
        if self._known:
            self._follow(last)
        elif self._probing:
            self._judge()
        elif self._still >= STILL:
            self._before, self._looks, self._found = last, 1, 0.0
            self._panel.set_width(CONTROLS + PROBE)

    def _judge(self) -> None:
        """Judge the picture beside wider controls, and then beside controls of the usual width."""
        lost = self._before[0] - self._size[0]
        self._looks += 1
        if self._looks > LOOKS:
            self._known = True
        elif self._size[1] != self._before[1] or not -BELIEVED[0] < lost / PROBE < BELIEVED[1]:
            self._looks = 0  # something else has changed it, too: once more
        elif self._found:
            if abs(lost) <= UNCHANGED:
                self._known, self.value = True, self._found
            elif self._still and abs(lost - PROBE * self._found) > UNCHANGED:
                self._looks = 0  # the controls took more than the probe, as where they have just come
            return
        elif self._still and lost / PROBE > BELIEVED[0]:
            self._found = lost / PROBE
        else:
            return
        self._panel.set_width(CONTROLS)

    def _follow(self, last: tuple[int, int]) -> None:
        """Follow a browser that draws the same picture finer or coarser."""
        (width, height), (before, tall) = self._size, last
        if abs(width * tall - height * before) <= UNCHANGED * max(tall, height):
            self.value *= width / before
