"""The questions of notebook 02, in a file of their own so that no cell gives an answer away."""

from workbench.lesson import question


def first_turn():
    return question(
        "Turn 1. The store is empty: what does line 3 read, and what does line 4 write?",
        choices=[
            'it reads nothing and writes `"1"`',
            'it reads `"0"` and writes `"0"`',
            "it fails, since there is no such key",
        ],
        answer='it reads nothing and writes `"1"`',
        because="A key that was never set reads as `None`, so `n` is 0.",
    )


def second_turn():
    return question(
        "Turn 2. Line 3 runs again, for the first round of the loop. In turn 1 it read nothing. What does it read now?",
        choices=[
            "nothing again: it is the same line of the same round",
            '`"1"`, which line 4 wrote in turn 1',
            '`"2"`, which line 4 is about to write',
        ],
        answer='`"1"`, which line 4 wrote in turn 1',
        because='The engine loads `kv_store` before it runs the function again, and turn 1 has left `"1"` there. '
        'So line 4 asks to set `"2"`, where the history says `"1"`.',
    )


def only_writing():
    return question(
        "Would the first design have survived if the function had never read the key, only written it?",
        choices=[
            "yes",
            "no: the table still holds what this execution wrote",
        ],
        answer="yes",
        because="The snapshot is as poisoned as before, but nobody looks: what the function asks for does not depend "
        "on it.",
    )


def after_pruning():
    return question(
        "The event arrives, and execution 2 is run again from its first line. What does it read as greeting this time?",
        choices=[
            "`hello`, as in its first turn: its history says so",
            "nothing: the key is gone, and reads are not in the history",
        ],
        answer="nothing: the key is gone, and reads are not in the history",
        because="So it asks to say `(no greeting)`, where the history says `hello`.",
    )


def your_own():
    return question(
        "A function sets a key and reads it back in the same round, before it yields. Is it poisoned on the first "
        "design?",
        choices=[
            "yes: every read of a key that this execution wrote is",
            "no: what this very run has written stands before what the table holds",
        ],
        answer="no: what this very run has written stands before what the table holds",
        because="A read is poisoned only where nothing was written before it *in this run*. Try it in the exercise "
        "below.",
    )
