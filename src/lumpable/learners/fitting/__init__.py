"""Fits that several learners share: k-means, matrix completion, regression."""
