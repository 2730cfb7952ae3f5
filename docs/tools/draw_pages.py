"""Takes the tutorials' pictures of pages, in a headless Chromium, from the running programs.

PYTHONPATH=test/harness python docs/tools/draw_pages.py [found/report.html]

Needs Chromium, chromedriver, selenium and pillow. With a report of ``identify`` only its picture is taken.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chromium import chromium
from draw_tutorials import IMAGES, block
from PIL import Image

COLOURS = 128
PROGRAM = str(Path(sys.executable).with_name("robot_dynamics"))
WIDTH, HEIGHT = 1280, 800
# Closes the notice that no graphics card draws the page.
CLOSE = """
for (const button of document.querySelectorAll("button"))
  if (button.parentElement.textContent.includes("WebGL")) button.click();
"""


def save(driver: Any, name: str) -> None:
    """Write what the browser shows."""
    shot = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    path = IMAGES / name
    shot.quantize(COLOURS).save(path, optimize=True)
    print(f"wrote {path}, {path.stat().st_size // 1000} kB")


@contextmanager
def shown(source: str) -> Iterator[str]:
    """The address of ``view SOURCE --tour``, until the robot has been in motion for some seconds."""
    command = [PROGRAM, "view", source, "--tour", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    view = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    assert view.stdout is not None
    try:
        yield next(line.split()[-1] for line in view.stdout if "is shown at" in line)
    finally:
        view.terminate()
        view.wait(30.0)


def web_view(driver: Any, source: str, name: str, seconds: float) -> None:
    """The page of a robot on its tour, some seconds after it is drawn."""
    with shown(source) as address:
        driver.get(address)
        while not driver.find_elements("css selector", "canvas"):
            time.sleep(0.2)
        time.sleep(seconds)
        driver.execute_script(CLOSE)
        time.sleep(1.0)
        save(driver, name)


if __name__ == "__main__":
    report = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder, chromium(WIDTH, HEIGHT) as browser:
        os.chdir(folder)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if report:
            browser.get(report.as_uri())
            save(browser, "crane_report.png")
            sys.exit()
        Path("arm.urdf").write_text(block("your_arm.md", "xml"), encoding="utf-8")
        web_view(browser, "arm.urdf", "web_view_crane.png", 25.0)
        new = block("your_stewart_platform.md", "sh", "stewart new").strip().split()
        subprocess.run([PROGRAM, *new[1:]], check=True)
        web_view(browser, "my_platform.yaml", "web_view_own_platform.png", 25.0)
