"""Keep what proves who a client is out of the log of aiokafka.

At the level DEBUG aiokafka logs every request as it was sent. With it come the password of SASL's PLAIN, the token of
OAUTHBEARER, and the proofs of SCRAM, from which a weak password can be guessed.
"""

from __future__ import annotations

import logging

#: Beginning of the names of the requests and responses that authenticate, of every version.
_AUTHENTICATION = "SaslAuthenticate"


class _Redaction(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_redacted(each) for each in record.args)
        return True


def _redacted(argument: object) -> object:
    name = type(argument).__name__
    return f"{name}(not shown)" if name.startswith(_AUTHENTICATION) else argument


_REDACTION = _Redaction()


def hide_secrets() -> None:
    """Keep secrets out of the log from now on; it may be called any number of times."""
    logging.getLogger("aiokafka.conn").addFilter(_REDACTION)
