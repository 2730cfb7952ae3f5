"""Reports of identification and sizing on a telephone."""

import pytest

from robot_dynamics.report.pages import rendered

pytest.importorskip("jinja2", reason="jinja2 is not installed")
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}


def test_long_names_do_not_widen_a_report(browser, tmp_path):
    """A log's path in a heading made the page of an identification 683 pixels wide."""
    text = rendered(
        "report/page.html.j2", title=f"Learned from {'/folder_of_logs' * 9}", summary="joint_" * 40
    )
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    browser.get(f"file://{tmp_path}/page.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
