"""Pages: each module builds what a template shows, and computes nothing that a chart does not."""
