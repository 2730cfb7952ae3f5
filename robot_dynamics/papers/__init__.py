"""What the five papers print, reproduced and counted: one folder for each paper."""
