"""A learner's two steps, compiled: for whole simulations, and for one round from Python."""
