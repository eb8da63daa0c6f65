"""What a learner believes: rows and sentences. Reads only."""
