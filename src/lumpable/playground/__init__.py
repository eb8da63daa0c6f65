"""A simulated platform that plays against a running service: its truth, its visitors, its judge."""
