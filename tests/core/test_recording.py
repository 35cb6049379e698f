"""Records of arrays: which line made each, kept beside arrays and not in them."""

import gc
import threading

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.core.array import ConcreteArray
from covector.core.recording import recorder


class Log:
    """A watcher that notes what it is told."""

    def __init__(self):
        self.events = []

    def made(self, array, record):
        self.events.append(("made", array.shape))

    def changed(self, array, record):
        self.events.append(("changed", array.shape))

    def gone(self, record):
        self.events.append(("gone", record.number))


def test_an_array_is_recorded_while_the_option_is_on_in_any_thread():
    made = []
    with options.override(record_lines=True):
        thread = threading.Thread(target=lambda: made.append(cnp.ones(3)))
        thread.start()
        thread.join()
    line = recorder.line_of(made[0])
    assert line.function.endswith("<lambda>")
    assert recorder.line_of(cnp.ones(3)) is None


def test_the_option_of_the_process_records_too():
    try:
        cv.config.update("record_lines", True)
        x = cnp.ones(3)
    finally:
        cv.config.update("record_lines", False)
    assert recorder.line_of(x) is not None
    assert ConcreteArray.__init__.__module__ == "covector.core.array"


def test_a_record_goes_with_its_array_and_another_array_has_another_number():
    x = cnp.ones(3)
    record = recorder.record_of(x)
    assert recorder.record_of(x) is record
    before = len(recorder._records)
    del x
    gc.collect()
    assert len(recorder._records) <= before - 1
    assert recorder.record_of(cnp.ones(3)).number > record.number


def test_a_watcher_is_told_of_arrays_that_are_made_change_and_go():
    log = Log()
    methods = dict(vars(ConcreteArray))
    with options.override(record_lines=True):
        recorder.watch(ConcreteArray, log)
        try:
            x = cnp.ones(7)
            x.buffer(cv.devices()[0])
            x.buffer(cv.devices()[0])
            number = recorder.record_of(x).number
            x.delete()
            del x
        finally:
            recorder.unwatch(ConcreteArray, log)
    seen = [e for e in log.events if e[1] in ((7,), number)]
    assert seen == [
        ("made", (7,)),
        ("changed", (7,)),
        ("changed", (7,)),
        ("gone", number),
    ]
    assert dict(vars(ConcreteArray)) == methods


def test_two_watchers_are_told_and_one_may_end_first():
    one, two = Log(), Log()
    with options.override(record_lines=True):
        recorder.watch(ConcreteArray, one)
        recorder.watch(ConcreteArray, two)
        recorder.unwatch(ConcreteArray, one)
        cnp.ones(11)
        recorder.unwatch(ConcreteArray, two)
    assert ("made", (11,)) in two.events
    assert ("made", (11,)) not in one.events
