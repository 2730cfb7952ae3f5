"""Generated models timed beside other libraries."""
