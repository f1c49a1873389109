"""Answers in another library: read final answers with confluent-kafka and json, without importing stream_ldp.

pip install confluent-kafka
python consumer.py 127.0.0.1:9092
"""

import json
import sys

from confluent_kafka import Consumer

TOPIC = "stream-ldp.care-survey.estimates"


def main(brokers: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "care-survey-dashboard",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([TOPIC])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is None or message.error():
                continue
            answer = json.loads(message.value())
            if answer["final"] and answer["status"] == "answered":
                print(answer["window"], answer["reports"], answer["probability"], flush=True)
    finally:
        consumer.close()


if __name__ == "__main__":
    main(sys.argv[1])
