"""What several learners share: k-means, completion, regression, and UCB for clusters."""
