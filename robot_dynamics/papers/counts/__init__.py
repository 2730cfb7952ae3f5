"""Operation counts of the formulations, measured by running them, beside the published ones."""
