"""A headless Chromium, driven through selenium."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Iterator

import numpy as np
import pytest
from patience import LONG_PATIENCE

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=0.5",
)


@contextlib.contextmanager
def chromium(width: int, height: int) -> Iterator[object]:
    """A driver; skips the test where there is no Chromium, no chromedriver or no selenium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed")
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(prefix="chromium_", ignore_cleanup_errors=True) as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for option in (*OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}"):
            options.add_argument(option)
        opened = webdriver.Chrome(options=options, service=Service(driver))
        # A browser that draws in software answers late on a busy machine.
        opened.set_script_timeout(LONG_PATIENCE)
        opened.set_page_load_timeout(LONG_PATIENCE)
        opened.command_executor.client_config.timeout = 2.0 * LONG_PATIENCE
        try:
            yield opened
        finally:
            opened.quit()


def pixels(driver: object) -> np.ndarray:
    """(height, width, 3) of the scene without the panels."""
    image = pytest.importorskip("PIL.Image", reason="PIL (pillow) is not installed")
    shot = np.asarray(image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB"))
    wide, high = driver.execute_script("return [window.innerWidth, window.innerHeight]")
    box = driver.execute_script(
        "const r = [...document.querySelectorAll('canvas')].map(c => c.getBoundingClientRect())"
        ".sort((a, b) => b.width * b.height - a.width * a.height)[0]; return [r.x, r.y, r.width, r.height]"
    )
    scale = shot.shape[1] / wide
    x, y, w, h = (round(scale * v) for v in box)
    return shot[max(0, y) : min(y + h, round(scale * high)), max(0, x) : x + w].astype(int)
