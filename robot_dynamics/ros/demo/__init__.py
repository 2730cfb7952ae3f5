"""The package's main job as a demonstration: real nodes in processes of their own, and a report."""
