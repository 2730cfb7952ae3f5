"""Tables and statements of the five papers, reproduced and counted: one folder for each paper."""
