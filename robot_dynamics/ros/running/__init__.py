"""Processes beside a loop that is watched: an observer of its topics, and a pacemaker."""
