"""The demo's survey: whose answers it draws from, and what is said where there is nothing to show."""

import numpy as np
import pytest
import typer

from stream_ldp.cli.demo.survey import Survey


def test_the_population_is_the_survey_and_both_questions_depend_on_each_other() -> None:
    """Of those who rate their marriage 1 of 5, three in four have had an affair; of those at 5, one in five."""
    answers = Survey(rate=1)._population
    assert answers.shape == (6_366, 2)
    affair = [answers[answers[:, 0] == rating, 1].mean() for rating in range(5)]
    assert np.all(np.diff(affair[1:]) < 0)
    assert affair[0] > 0.7
    assert affair[4] < 0.25


def test_a_demo_without_an_estimate_ends_with_an_error_that_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        Survey(rate=1).summary()
    assert ended.value.exit_code == 1
    assert "no estimate came in that time" in capsys.readouterr().err
