"""How the practical learner is measured: problems, peers, seeds, ratios, bars and the page."""
