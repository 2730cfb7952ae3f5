"""Reports of nodes on /diagnostics, for tests."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from robot_dynamics.ros.support import qos

OK, WARN, ERROR, STALE = (getattr(DiagnosticStatus, name) for name in ("OK", "WARN", "ERROR", "STALE"))


class Report:
    """The node's newest status."""

    def __init__(self, peer):
        self._peer = peer
        self._reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)

    def wait_for(self, level, text, meanwhile=lambda: None):
        """The values of the first status from now on with this level and this text in its message."""
        count = len(self._reports)

        def found():
            meanwhile()
            for report in self._reports[count:]:
                status = report.status[0]
                if status.level == level and text in status.message:
                    return {entry.key: entry.value for entry in status.values} or {"": ""}
            return None

        return self._peer.wait_until(found, f"no status of level {level!r} with {text!r}")
