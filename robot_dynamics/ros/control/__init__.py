"""Parts of nodes that close a control loop over DDS: loop, watchdog, halt, lifecycle, safe output."""
