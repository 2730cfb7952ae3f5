"""What a person sees of a run: figures, tables and plots from recordings. No ROS here."""
