"""The ring of samples: order, gaps, a bound on series."""

from barnabas.console.clusters.history import History


def test_samples_come_back_oldest_first_and_the_oldest_go() -> None:
    history = History(samples=3)
    for time in range(1, 6):
        history.add(float(time), {"a": time * 10.0})
    assert history.read(["a"]) == {"time": [3.0, 4.0, 5.0], "a": [30.0, 40.0, 50.0]}
    assert history.read(["a"], since=4.0) == {"time": [5.0], "a": [50.0]}


def test_what_a_sample_does_not_name_is_unknown_not_zero() -> None:
    history = History(samples=3)
    history.add(1.0, {"a": 1.0})
    history.add(2.0, {"b": 2.0})
    assert history.read(["a", "b", "c"]) == {
        "time": [1.0, 2.0],
        "a": [1.0, None],
        "b": [None, 2.0],
        "c": [None, None],
    }
    assert history.last("a") is None
    assert history.last("b") == 2.0


def test_series_that_stand_still_make_room_for_those_that_move() -> None:
    history = History(samples=4, series_max=2)
    history.add(1.0, {"still": 0.0, "busy": 5.0})
    history.add(2.0, {"still": 0.0, "busy": 5.0, "quiet": 0.0})
    assert history.last("quiet") is None
    history.add(3.0, {"still": 0.0, "busy": 5.0, "new": 1.0})
    assert (history.last("busy"), history.last("new"), history.last("still")) == (5.0, 1.0, None)


def test_series_that_all_move_do_not_push_each_other_out() -> None:
    history = History(samples=4, series_max=2)
    for time in range(1, 4):
        history.add(float(time), {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0})
    found = history.read(["a", "b", "c"])
    assert (found["a"], found["b"], found["c"]) == ([1.0] * 3, [1.0] * 3, [None] * 3)
    history.add(4.0, {"a": 1.0})
    history.add(5.0, {"a": 1.0})
    history.add(6.0, {"a": 1.0, "c": 2.0})
    assert history.last("c") == 2.0, "b stands still and makes room"
    assert history.last("a") == 1.0 and history.read(["b"])["b"][-1] is None
