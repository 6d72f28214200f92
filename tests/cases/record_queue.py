"""Record the queue half of P-08 with the real engine: `python -m tests.cases.record_queue` writes the JSON file.

One message for each value is in the queue before the first is taken, and two come later.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

import duroxide

from tests.cases.programs import MESSAGES, values_of_queue
from tests.cases.recorded import QUEUE_FILE
from workbench import open_source

LATE = 2
"""How many messages are sent only after the code waits for them."""


def main() -> None:
    """Run the instance, then write its recording."""
    with tempfile.TemporaryDirectory(prefix="queue-") as folder:
        database = Path(folder) / "queue.db"
        provider = duroxide.SqliteProvider.open(str(database))
        client = duroxide.Client(provider)
        runtime = duroxide.Runtime(provider)
        runtime.register_orchestration("O", values_of_queue)
        thread = threading.Thread(target=runtime.start, daemon=True)
        thread.start()
        time.sleep(0.5)
        client.start_orchestration("queue", "O", len(MESSAGES))
        time.sleep(0.3)
        for value in MESSAGES[:-LATE]:
            client.enqueue_event("queue", "values", value)
        time.sleep(0.5)
        for value in MESSAGES[-LATE:]:
            client.enqueue_event("queue", "values", value)
        client.wait_for_orchestration("queue", 10_000)
        runtime.shutdown(1_000)
        thread.join()
        with open_source(database) as source:
            source.recording("queue").to_json(QUEUE_FILE)


if __name__ == "__main__":
    main()
