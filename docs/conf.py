"""Configuration of the documentation site: ``make docs`` builds it, and so does rosdoc2.

``make docs`` fetches nothing while it builds, and no page loads anything from another place. The jobs that
document packages for ROS's index have rosdoc2, and nothing else that a package needs. There the requirements
of setup.py are installed beside the build, for the tables are made by the code.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
# rosdoc2 builds a copy of this folder, anywhere, with a conf.py that reads this one.
NAMED = re.findall(r'open\("(.*)/docs/conf\.py"\)', Path(__file__).read_text(encoding="utf-8"))
PLACES = [*(Path(folder) for folder in NAMED), *DOCS.parents]
ROOT = next((folder for folder in PLACES if (folder / "package.xml").is_file()), DOCS.parent)
sys.path[:0] = [str(DOCS / "tools"), str(ROOT)]


def install_requirements() -> None:
    """Install the package's requirements and the theme into a folder that Python searches last."""
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    values = {node.arg: node.value for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    needed = [*ast.literal_eval(values["install_requires"]), "furo"]
    folder = tempfile.mkdtemp(prefix="robot_dynamics_docs_")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder]
    subprocess.run([*pip, *needed], check=True)
    sys.path.append(folder)
    importlib.invalidate_caches()


if NAMED and not all(map(importlib.util.find_spec, ("numpy", "cffi", "furo"))):
    install_requirements()

import robot_dynamics  # noqa: E402

project = "robot_dynamics"
author = "robot_dynamics maintainers"
project_copyright = author
version = release = robot_dynamics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated"]
root_doc = "index"
source_suffix = {".md": "markdown"}
# rosdoc2 adds the folder standard_docs with the README, whose links are those of the clone.
exclude_patterns = ["tools", "standard_docs"]
if DOCS.parent != ROOT:
    suppress_warnings = ["myst.xref_missing"]
highlight_language = "text"

# Headings are link targets, as on GitHub; a link that leads nowhere is a warning, and warnings end the build.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_use_rtype = False
napoleon_use_ivar = True

# rosdoc2 would take another theme, and fetch inventories of other packages.
rosdoc2_settings = {
    "override_theme": False,
    "enable_intersphinx": False,
    "automatically_extend_intersphinx_mapping": False,
}

html_theme = "furo"
html_title = f"robot_dynamics {release}"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = "%Y-%m-%d"


def page_dates() -> dict[str, str]:
    """Date of the last commit of each page; empty outside a clone."""
    command = ["git", "log", "--format=%x00%cs", "--name-only", "--relative", "--", "."]
    done = subprocess.run(command, cwd=ROOT / "docs", capture_output=True, text=True, check=False)
    dates: dict[str, str] = {}
    for commit in done.stdout.split("\0")[1:]:
        date, *names = commit.split()
        for name in names:
            dates.setdefault(name.removesuffix(".md"), date)
    return dates


def setup(app: Any) -> None:
    """Show on each page the date of its last change."""
    dates = page_dates()

    def put(_app: Any, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
        context["last_updated"] = dates.get(page, context.get("last_updated"))

    app.connect("html-page-context", put)
