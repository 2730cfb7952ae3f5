"""What passes on topics, kept in files."""
