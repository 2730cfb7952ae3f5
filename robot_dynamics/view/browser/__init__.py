"""The page in a browser, served by viser."""
