"""What threads work on is told from what waits in a queue."""

from covector.analysis.profile.attribution import attribute
from covector.analysis.profile.recording import KernelEvent, Recording
from covector.analysis.profile.threads import Segment, ThreadEvent, segments

A, B = ("m", "a"), ("m", "b")


def kernel(thread, key, start, end):
    return ThreadEvent(thread, key[1], start, end - start, {}, key)


def queued(thread, at, number):
    return ThreadEvent(
        thread, "ThreadpoolListener::Record", at, 0, {"_p": number}, None
    )


def region(thread, start, end, number):
    begin, stop = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
    return [
        ThreadEvent(thread, begin, start, 0, {"_c": number}, None),
        ThreadEvent(thread, stop, end, 0, {}, None),
    ]


def test_a_task_is_work_of_the_kernel_that_queued_it():
    found = segments(
        [kernel(1, A, 0, 4), queued(1, 1, 7), *region(2, 10, 15, 7), kernel(1, B, 4, 9)]
    )
    assert found == [Segment(A, 0, 4), Segment(B, 4, 9), Segment(A, 10, 15)]


def test_what_a_task_starts_is_work_of_its_own():
    events = [queued(1, 1, 7), kernel(1, A, 0, 4), kernel(2, B, 11, 13)]
    found = segments([*events, *region(2, 10, 15, 7)])
    assert found == [
        Segment(A, 0, 4),
        Segment(A, 10, 11),
        Segment(B, 11, 13),
        Segment(A, 13, 15),
    ]


def test_tasks_of_tasks_are_work_of_the_kernel():
    events = [kernel(1, A, 0, 4), queued(1, 1, 7), queued(2, 6, 8)]
    found = segments([*events, *region(2, 5, 7, 7), *region(3, 8, 9, 8)])
    assert found == [Segment(A, 0, 4), Segment(A, 5, 7), Segment(A, 8, 9)]


def test_tasks_of_nobody_and_ends_without_a_start_are_passed_over():
    (_, stop) = region(1, 0, 2, 3)
    assert segments([stop, *region(1, 4, 6, 99)]) == []


def test_a_kernel_that_waits_takes_no_time_while_others_work():
    begun = [KernelEvent(*A, 0, 20), KernelEvent(*B, 5, 10)]
    worked = [Segment(A, 0, 5), Segment(B, 5, 10)]
    found = attribute(Recording(begun, [], {}, worked), [(0, 30)])
    assert found.time == {A: 5 + 10, B: 5}
