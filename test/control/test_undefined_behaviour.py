"""The tests from within once more, with a core that ends where C leaves the behaviour undefined."""

import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from sanitized import TRAPPED

RUN = """
import sys
import pytest
from robot_dynamics.control.core import library
made = library.built(library.core_source(), (*library.FLAGS, "-O1", *sys.argv[1].split()))
library.core_path = lambda: made
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not long", *sys.argv[2:]]))
"""


@pytest.mark.long
def test_no_inner_function_leaves_its_arrays():
    files = map(str, sorted(Path(__file__).parent.glob("test_*_within.py")))
    call = [sys.executable, "-X", "faulthandler", "-c", RUN, " ".join(TRAPPED), *files]
    run = subprocess.run(call, capture_output=True, text=True, timeout=5 * PATIENCE)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
