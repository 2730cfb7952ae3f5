"""Parts of the launch files in ``launch/``."""
