"""The practical learner: groups as far as the evidence goes, at horizons that people have."""
