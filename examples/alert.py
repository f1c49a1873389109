"""An alert: print a line when a share is above a limit by more than its standard errors explain.

python alert.py | mail -s "care survey" operator@example.org
"""

from stream_ldp import Estimate, Settings, Subscriber, SyncSubscriber

VALUE, LIMIT = "full", 0.3


def above(estimate: Estimate) -> str | None:
    """Return the text of an alert, or None where the confidence interval of 95 % reaches down to the limit."""
    found = estimate.marginal("mobility")
    (axis,) = found.of
    place = axis.values.index(VALUE)
    low, high = (bound[place] for bound in found.interval(0.95))
    if low <= LIMIT:
        return None
    return f"{estimate.window}: {low:.1%} to {high:.1%} need {VALUE} help, more than {LIMIT:.0%}"


def main() -> None:
    answers = Subscriber("care-survey", Estimate, settings=Settings.load(), finals_only=True)
    with SyncSubscriber(answers) as estimates:
        for estimate in estimates:
            if alert := above(estimate):
                print(alert, flush=True)


if __name__ == "__main__":
    main()
