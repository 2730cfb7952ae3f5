"""Reasons not to believe a result."""

from __future__ import annotations

from robot_dynamics.identification.result import Identification, relative_error

TOTAL_FACTOR = 1.75
"""Largest ratio between the identified and the described total mass, in either direction."""
LINK_FACTOR = 2.5
"""Largest ratio between the identified and the described mass of a link, in either direction."""
SMALL_LINK = 0.05
"""Share of the described total mass that is added to both limits of a link's mass."""
NEGLIGIBLE = 1e-3
"""Relative error of the efforts that may exceed the description's: where that is exact, both are rounding."""


def implausibilities(found: Identification) -> tuple[str, ...]:
    """Reasons why the result cannot be right; empty for a plausible result.

    Checked are the solver's status, the error on the validation runs against that of the description, and,
    unless only a payload was identified, the total mass and the mass of each link against the description.
    """
    reasons = []
    if found.inaccurate:
        reasons.append(f"the solution is inaccurate: {found.inaccurate}")
    if found.validate:
        before = relative_error(found.validate, "prior")
        after = relative_error(found.validate)
        if before is not None and after is not None and not after <= max(before, NEGLIGIBLE):
            reasons.append(
                f"the result misses {100.0 * after:.3g} % of the efforts that were held out, the description"
                f" {100.0 * before:.3g} %: the result must be better"
            )
    return (*reasons, *(() if found.payloads else _masses(found)))


def _masses(found: Identification) -> list[str]:
    described = {joint.link: float(joint.body.mass) for joint in found.prior.joints}
    identified = {joint.link: float(joint.body.mass) for joint in found.chain.joints}
    before, after = sum(described.values()), sum(identified.values())
    if not before > 0.0:
        return []
    reasons = []
    if not before / TOTAL_FACTOR <= after <= before * TOTAL_FACTOR:
        reasons.append(
            f"the total mass is {after:.4g} kg, by the description {before:.4g} kg; plausible is"
            f" {before / TOTAL_FACTOR:.3g} to {before * TOTAL_FACTOR:.3g} kg"
        )
    for link, mass in identified.items():
        least = max(0.0, described[link] / LINK_FACTOR - SMALL_LINK * before)
        most = described[link] * LINK_FACTOR + SMALL_LINK * before
        if not least <= mass <= most:
            reasons.append(
                f"the mass of {link} is {mass:.4g} kg, by the description {described[link]:.4g} kg; plausible"
                f" is {least:.3g} to {most:.3g} kg"
            )
    return reasons
