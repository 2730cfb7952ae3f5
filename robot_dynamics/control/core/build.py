"""Build the control core and the retiming while the package is installed.

``python -m robot_dynamics.control.core.build FOLDER`` imports nothing that an installation has yet to bring.
"""

from __future__ import annotations

import sys
from pathlib import Path

from robot_dynamics.control.core.sources import FLAGS, core_source
from robot_dynamics.control.retiming import sources as retiming
from robot_dynamics.errors import BackendError
from robot_dynamics.native import prebuilt


def main(folder: str) -> int:
    """Build into ``folder``; a failure is one line, and no reason not to install the library."""
    try:
        prebuilt.build(core_source(), FLAGS, Path(folder))
        for flags in (retiming.FLAGS, retiming.WIDE)[: 1 + retiming.wide()]:
            prebuilt.build(retiming.retiming_source(), flags, Path(folder))
    except BackendError as error:
        print(f"robot_dynamics: the control core is not built: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
