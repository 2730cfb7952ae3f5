"""Displays of an arm or a platform from topics, and messages of the web view to them."""
