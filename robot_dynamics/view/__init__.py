"""Display of robots: geometry, and the web view that viser serves to a browser.

``visuals``, ``robot_geometry`` and ``efforts`` are plain geometry, for rviz and the
browser alike; the modules under ``browser`` need viser. Nothing here knows ROS.
"""
