"""Every table, figure and statement of a paper beside what comes out here, with computed verdicts."""
