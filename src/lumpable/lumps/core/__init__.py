"""The learner of numbers: its state, one round, many rounds, room for more, fits adopted."""
