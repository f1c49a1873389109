"""How many users a wanted error takes, by the errors that a plan predicts.

Between two predicted numbers of users, the logarithm of an error is interpolated linearly in the logarithm of the
number. Beyond them, errors fall as one over the root of the number. The number that is found is predicted too, until
it stays.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_ldp.evaluation.prediction import Prediction, predictions
from stream_ldp.evaluation.trial import Evaluation, first_metric

#: Most users: those of a table are in memory all at once, and of assumed ones no more than a plan draws.
_MOST_DRAWN, _MOST = 1_000_000, 1_000_000_000
#: Most numbers of users that are predicted for each series, and how near to a predicted one a number stays.
_TRIED, _STAYS = 4, math.log(1.05)
#: Least error: that of a ranking may be 0.
_LEAST = 1e-9


class UsersFor(NamedTuple):
    """The number of users with which a metric is predicted to be as wanted.

    metric: the first of its kind that the series has.
    users: to two digits; None where more than can be predicted do not have it.
    """

    series: str
    metric: str
    wanted: float
    users: int | None


def users_for(
    collection: Any, evaluation: Evaluation, found: Sequence[Prediction], *, wanted: float, population: Any = None
) -> list[UsersFor]:
    """Find the number of users of each series.

    found: what is predicted of the collection.
    wanted: an error, or a quality whose best value is 1.
    population: see `stream_ldp.evaluation.prediction.predictions`.
    """
    known = {(each.series, each.users): each.metrics for each in found}
    least, most = collection.floor, _MOST if population is None else _MOST_DRAWN

    def predict(users: int) -> None:
        for each in predictions(collection, evaluation, users=[users], population=population):
            known[each.series, each.users] = each.metrics

    answers = []
    for series, metric in {each.series: first_metric(evaluation, each.metrics) for each in reversed(found)}.items():
        if metric is None:
            continue
        best = evaluation.predicts[metric].best
        aim = math.log(max(abs(best - wanted), _LEAST))
        for _ in range(_TRIED):
            heights = {
                math.log(users): math.log(max(abs(best - metrics[metric]), _LEAST)) - aim
                for (of, users), metrics in known.items()
                if of == series and metric in metrics
            }
            # What fewer users than that answer is withheld.
            place = min(max(_crossing(heights), math.log(least)), math.log(most))
            if min(abs(place - each) for each in heights) < _STAYS:
                break
            predict(round(math.exp(place)))
        users = round(float(f"{math.exp(place):.1e}"))
        reached = min(heights[each] for each in heights) <= 0.0
        answers.append(UsersFor(series, metric, wanted, max(users, least) if reached else None))
    return answers[::-1]


def _crossing(heights: dict[float, float]) -> float:
    """Return the place where a height is 0, given heights by their places; see the module."""
    low = max((place for place, height in heights.items() if height > 0.0), default=-math.inf)
    high = min((place for place in heights if place > low), default=math.inf)
    if math.isinf(low):
        return high + 2.0 * heights[high]
    if math.isinf(high):
        return low + 2.0 * heights[low]
    return low + (high - low) * heights[low] / (heights[low] - heights[high])
