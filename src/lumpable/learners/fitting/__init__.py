"""What several learners share: k-means, completion, regression, graphs, UCB for clusters."""
