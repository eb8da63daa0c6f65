"""The truth: worlds to learn in, and the order in which contexts come. Knows no algorithm."""

from lumpable.worlds.amounts import Beta, Exponential, Poisson, Revenue, StudentT
from lumpable.worlds.custom import Custom
from lumpable.worlds.laws import Bernoulli, Gaussian, Law
from lumpable.worlds.made import from_frame, from_matrix, hard, low_rank, lumpable, read, survey
from lumpable.worlds.people import blocs, tastes, two_point, with_levels
from lumpable.worlds.stars import Stars
from lumpable.worlds.worst_cases import hidden_arms, lower_bound

__all__ = [
    "Bernoulli",
    "Beta",
    "Custom",
    "Exponential",
    "Gaussian",
    "Law",
    "Poisson",
    "Revenue",
    "Stars",
    "StudentT",
    "blocs",
    "from_frame",
    "from_matrix",
    "hard",
    "hidden_arms",
    "low_rank",
    "lower_bound",
    "lumpable",
    "read",
    "survey",
    "tastes",
    "two_point",
    "with_levels",
]
