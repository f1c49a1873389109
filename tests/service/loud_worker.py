"""A worker that logs all that it and its libraries have to say."""

import logging

from stream_ldp.cli import main, worker

if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    logging.getLogger("aiokafka").setLevel(logging.DEBUG)
    worker.begin_log = lambda *_, **__: None  # type: ignore[attr-defined]
    main()
