"""Mechanisms: how values are perturbed on the user's side, and the probabilities by which the reports are decoded.

Each name of the stub is imported when it is first used: a client loads one mechanism, not all. The tables in `specs`,
`randomizers` and `report_cost` are the only lists of mechanisms: a new one is a file of its own, and a line in one of
them.
"""

from stream_ldp.deferred import names_of_stub

__getattr__, __dir__ = names_of_stub(__name__, __file__)
