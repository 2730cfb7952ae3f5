"""The web view as a process of its own, and its page as a user sees and uses it."""

from __future__ import annotations

import time

from patience import LONG_PATIENCE, RETYPE
from ros_harness import HarnessError, NodeProcess, free_port


def web_view(namespace="", **parameters):
    """A node process and the address of its page; in a namespace it does not see the live arm."""
    port = free_port()
    remap = ["-r", f"__ns:={namespace}"] if namespace else []
    node = NodeProcess("web_view", {"port": port, "shadows": False, **parameters}, remap)
    return node, f"http://127.0.0.1:{port}/"


def newest(peer, kept):
    """A message that comes now: those that waited in the queue may be old."""
    kept.clear()
    peer.wait_until(lambda: len(kept) > 2, "no messages come")
    return kept[-1]


class Page:
    """The page as a user sees and operates it."""

    def __init__(self, peer, driver, address):
        self.peer, self.driver = peer, driver
        peer.patience = LONG_PATIENCE
        peer.processes[-1].wait_for_output("is shown at")
        driver.get(address)
        peer.wait_until(lambda: driver.find_elements("css selector", "canvas"), "the page has no canvas")

    def wait_for_slider(self, name):
        self.peer.wait_until(
            lambda: self.driver.find_elements("xpath", f"//label[starts-with(., '{name} ')]"),
            f"there is no slider {name}",
        )

    def slider_value(self, name):
        return float(self.slider(name)[0].get_attribute("aria-valuenow"))

    def wait_for_plots(self, count):
        """Wait until so many plots are open: the picture of the scene has its size then."""
        self.peer.wait_until(
            lambda: (
                self.driver.execute_script(
                    "return [...document.querySelectorAll('.uplot')].filter(e => e.offsetHeight > 0).length"
                )
                == count
            ),
            f"there are not {count} open plots",
        )

    def wait_for_notice(self, text):
        said = []

        def seen():
            said[:] = self.texts()
            return any(text in notice for notice in said)

        try:
            self.peer.wait_until(seen, f"the page never says {text!r}")
        except HarnessError as error:
            raise HarnessError(f"{error}\nthe page said at last: {said}") from None

    def texts(self):
        return self.driver.execute_script(
            "return [...document.querySelectorAll('.notice')].map(e => e.textContent)"
        )

    def slider(self, name):
        """The thumb of the slider and its number field."""
        label = f"//label[.='{name}' or starts-with(., '{name} ')]"
        row = f"{label}/ancestor::*[.//*[@role='slider']][1]"
        (thumb,) = self.driver.find_elements("xpath", f"({row}//*[@role='slider'])[1]")
        (field,) = self.driver.find_elements("xpath", f"({row}//input[@inputmode='decimal'])[1]")
        return thumb, field

    def type(self, name, value):
        """Type into the number field of a slider."""
        self._typed(
            lambda: self.slider(name)[1],
            str(value),
            lambda: self.slider_value(name) == value,
            f"the slider {name} does not take {value}",
        )

    def _typed(self, field, text, taken, what):
        """Type until it is taken: what follows a moving robot overwrites what is being typed."""
        from selenium.webdriver.common.keys import Keys

        typed = 0.0

        def tried():
            nonlocal typed
            if taken():
                return True
            if time.monotonic() > typed + RETYPE:
                field().send_keys(Keys.CONTROL, "a")
                field().send_keys(text, Keys.ENTER)
                typed = time.monotonic()
            return taken()

        self.peer.wait_until(tried, what)

    def field(self, name):
        """The field of a text or a choice."""
        row = f"//label[.='{name}']/ancestor::*[.//input][1]//input"
        return self.peer.wait_until(
            lambda: next(iter(self.driver.find_elements("xpath", f"({row})[1]")), None),
            f"there is no field {name}",
        )

    def wait_for_field(self, name, text):
        """Until a field shows a text."""
        self.peer.wait_until(
            lambda: self.field(name).get_attribute("value") == text, f"{name} does not become {text}"
        )

    def write(self, name, text):
        """Type into a text field."""
        self._typed(
            lambda: self.field(name),
            text,
            lambda: self.field(name).get_attribute("value") == text,
            f"{name} does not take {text}",
        )

    def choose(self, name, value):
        """Take one of a field's choices."""

        def chosen():
            option = f"//*[@role='option'][normalize-space()='{value}']"
            if not self.driver.find_elements("xpath", option):
                self.field(name).click()
            for found in self.driver.find_elements("xpath", option):
                self.driver.execute_script("arguments[0].click()", found)
            return self.field(name).get_attribute("value") == value

        self.peer.wait_until(chosen, f"{name} does not become {value}")

    def open(self, tab):
        """Show a tab of the controls."""
        self.driver.find_element("xpath", f"//*[@role='tab'][normalize-space()='{tab}']").click()

    def reset(self):
        self.open("Controller")
        self.peer.wait_until(
            lambda: self.driver.find_elements("xpath", "//button[normalize-space()='reset simulation']"),
            "there is no reset",
        )
        self.press("reset simulation")
        self.open("Move")

    def press(self, name):
        # viser sends what is typed at most every 50 ms, and a click before that instead of the last letters.
        self.driver.execute_async_script("setTimeout(arguments[0], 100)")
        (button,) = self.driver.find_elements("xpath", f"//button[starts-with(normalize-space(), '{name}')]")
        self.driver.execute_script("arguments[0].click()", button)

    def check(self, name):
        """Click a checkbox."""
        row = f"//label[starts-with(normalize-space(), '{name}')]/ancestor::*[.//input[@type='checkbox']][1]"
        box = self.driver.find_elements("xpath", f"{row}//input[@type='checkbox']")[0]
        self.driver.execute_script("arguments[0].click()", box)
