"""A plain script: report for one user, within a lifetime budget that is kept beside the user's secret.

stream-ldp broker &
stream-ldp topics create survey.yaml
python script.py no some
"""

import sys
from pathlib import Path

from stream_ldp import Reporter, ReportRefused, Settings, SyncReporter, Terms, load_collection, load_or_create_user

HERE = Path(__file__).parent


def main(bathing: str, mobility: str) -> None:
    survey = load_collection(HERE / "survey.yaml")
    secret, ledger = load_or_create_user(Path.home() / ".care-survey" / "secret", terms=Terms(budget=2.0))
    with SyncReporter(Reporter(survey, settings=Settings.load(), secret=secret, ledger=ledger)) as reporter:
        try:
            print(reporter.report({"bathing": bathing, "mobility": mobility}))
        except ReportRefused as refused:
            print(refused)


if __name__ == "__main__":
    main(*sys.argv[1:])
