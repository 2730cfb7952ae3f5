"""The web view, served by viser."""
