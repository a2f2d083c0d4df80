"""One file for each section of a report: its numbers, its sentences, its tables and drawings."""
