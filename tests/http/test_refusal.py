"""Tests of the form of a refusal."""

import json

from stream_ldp.http.refusal import Refused


def test_a_refusal_has_a_reason_for_programs_and_a_detail_for_people_and_says_when_to_try_again() -> None:
    response = Refused(503, "busy", "too much is under way", retry_after=1.2).response()
    assert (response.status, response.headers["Retry-After"]) == (503, "2")
    assert json.loads(response.text or "") == {"reason": "busy", "detail": "too much is under way"}
    assert "Retry-After" not in Refused(403, "unknown_origin", "").response().headers
