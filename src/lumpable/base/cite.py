"""What to cite."""

from lumpable.base.version import __version__

PAPER = """\
@inproceedings{lee2023context,
  title     = {Context-lumpable stochastic bandits},
  author    = {Lee, Chung-Wei and Liu, Qinghua and Abbasi-Yadkori, Yasin and Jin, Chi and
               Lattimore, Tor and Szepesv{\\'a}ri, Csaba},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023}
}
"""


def citation() -> str:
    """Return the BibTeX of the paper and of this package.

    >>> print(citation().splitlines()[0])
    @inproceedings{lee2023context,
    """
    package = f"""\
@software{{lumpable,
  title   = {{lumpable: learn who is alike while you learn what works}},
  author  = {{{{The lumpable developers}}}},
  version = {{{__version__}}},
  year    = {{2026}}
}}
"""
    return PAPER + "\n" + package
