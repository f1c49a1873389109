"""What the papers wish for next, and what the product has of it."""

from typing import NamedTuple


class Direction(NamedTuple):
    """A wish of a paper.

    answer: yes, in part, or no.
    how: with what, or what is missing.
    """

    wish: str
    place: str
    answer: str
    how: str


DIRECTIONS = (
    Direction(
        "key-value data: keys and values both hidden, and still kept together",
        "survey, 5.1",
        "yes",
        "`kind: pairs`: the share of users who hold each key, and the mean of its numbers, from one answer that "
        "hides both",
    ),
    Direction(
        "graph data: degrees, subgraphs, with the dependence of sparse edges",
        "survey, 5.1",
        "no",
        "nothing of it; the numbers of a user's own edges could be an attribute with a `range`",
    ),
    Direction(
        "queries of ranges",
        "survey, 5.2",
        "yes",
        "`stream-ldp query --between 20,40` asks any answer about a number, with the standard error of the range",
    ),
    Direction(
        "queries of extremes",
        "survey, 5.2",
        "in part",
        "a high quantile with its interval (`quantiles: [0.99]`); the largest number is one user's, and stays hidden",
    ),
    Direction(
        "clustering",
        "survey, 5.2",
        "in part",
        "on synthetic records (`stream-ldp synthesize`), with any library; nothing is made for it",
    ),
    Direction(
        "frequent patterns (sets of items that are often together)",
        "survey, 5.2",
        "yes",
        "`itemsets: {k: 20, sizes: [2, 3]}`: pairs and triples are guessed from items, and counted by other users",
    ),
    Direction(
        "one perturbation for many queries",
        "survey, 5.2",
        "yes",
        "reports of records and of views answer any estimate of their attributes, later ones by `stream-ldp replay`",
    ),
    Direction(
        "more useful results of analyses",
        "survey, 5.2",
        "yes",
        "figures 1 to 9 above, and pages on accuracy: what windows, attributes and candidates have in common is used",
    ),
    Direction(
        "regressions and SVM, as in Harmony's other half",
        "survey, 5.2",
        "in part",
        "learnt from synthetic records, with the accuracy on the page on mechanisms; no gradients are collected",
    ),
    Direction(
        "correlations of many attributes within a budget",
        "survey, 5.3",
        "yes",
        "views (`ask: auto`): each user reports a few attributes at the full epsilon, in place of all at a part of "
        "it",
    ),
    Direction(
        "an inference from margins to the joint with little error",
        "survey, 5.3",
        "yes",
        "maximum entropy over views, a junction tree for records, and standard errors that say what they leave open",
    ),
    Direction(
        "little communication for wide data",
        "survey, 5.3",
        "yes",
        "a view is a small answer, whatever the number of attributes; `stream-ldp plan` prints the bytes",
    ),
    Direction(
        "the graphical model that fits the data best",
        "joint distributions, 6",
        "yes",
        "synthetic records are drawn along a junction tree of the pairs whose dependence is seen (`synthesize`)",
    ),
    Direction(
        "published data that are more useful",
        "joint distributions, 6",
        "yes",
        "views at the full epsilon, a hidden factor of many attributes, and the previous windows as a prior",
    ),
    Direction(
        "other groups of users than two halves",
        "frequent items, 6",
        "yes",
        "gfim-users and svim give each phase its own users and all of epsilon, and `split` divides either",
    ),
)
