"""The table at the end of ``make drill``."""


def pytest_terminal_summary(terminalreporter):
    """Table of the observer's measurements, one row for each drill."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    rows = [(dict(r.user_properties), r.outcome) for r in reports if getattr(r, "when", "") == "call"]
    rows = [(row, outcome) for row, outcome in rows if "fault" in row]
    if not rows:
        return
    write = terminalreporter.write_line
    write("")
    write(
        "What the observer saw: largest effort and step as shares of the limit, longest silence, and for how"
    )
    write("long somebody waited for a processor in it")
    titles = f"{'messages':>9}{'effort':>8}{'step':>8}{'silence':>9}{'waited':>9}"
    write(f"{'machine':40}{'fault':32}{titles}  outcome")
    for row, outcome in rows:
        numbers = (
            f"{row['messages']:9}{row['effort']:8.2f}{row['step']:8.2f}{row['silence']:8.2f}s"
            f"{row['waited']:8.2f}s"
            if "messages" in row
            else " " * 43
        )
        write(f"{row['machine']:40}{row['fault']:32}{numbers}  {outcome}")
