"""Methods written in Python: they run, share, fail and resume as every method does."""

import numpy as np
import pytest

import sordino

SMALL = {"federation.agents": 6, "federation.rounds": 4, "federation.initial_points": 2, "runs": 2}


class Near:
    """Alone: looks near its own best point."""

    version = "near 1"

    def choose(self, sight):
        rng = np.random.default_rng(sight.seed)
        best = max(sight.log, key=lambda pair: pair[1])[0]
        asked = rng.integers(len(sight.candidates), size=10)
        far = np.square(sight.candidates[asked] - sight.candidates[best]).sum(axis=1)
        return int(asked[far.argmin()])


class Gossip(Near):
    """With a server that tells everybody the best candidate, and counts its rounds."""

    version = "gossip 1"
    message_len = 2

    def choose(self, sight):
        if sight.broadcast is not None and sight.agent % 2 == 0:
            return int(sight.broadcast[0])
        return super().choose(sight)

    def message(self, sight):
        candidate, value = max(sight.log, key=lambda pair: pair[1])
        return [candidate, value]

    def aggregate(self, messages, kept, seed):
        assert len(messages) == 6 and isinstance(seed, int)
        kept[:] = [kept[0] + 1 if kept else 1]
        return [max(messages, key=lambda message: message[1][1])[1][0], kept[0]]


def run(own, **more):
    return sordino.run("default", methods=["ts"], own=own, set=SMALL, **more)


def test_own_methods_stand_in_every_result():
    result = run({"near": Near(), "gossip": Gossip()})
    assert {"ts", "near", "gossip"} <= set(result.digests)


def test_drivers_threads_and_a_second_run_agree():
    own = {"near": Near(), "gossip": Gossip()}
    first = run(own).digests
    assert first == run(own, driver="lockstep").digests
    assert first == run(own, threads=1).digests

    class Other(Gossip):
        version = "gossip 2"

        def choose(self, sight):
            return sight.agent

    # Negative control: another method has another digest.
    assert first != run({"near": Near(), "gossip": Other()}).digests


def test_an_exception_comes_back_and_the_folder_goes_on(tmp_path):
    class Stumbles(Gossip):
        armed = True

        def aggregate(self, messages, kept, seed):
            if self.armed and kept and kept[0] >= 2:
                raise ZeroDivisionError("on purpose")
            return super().aggregate(messages, kept, seed)

    out = tmp_path / "run"
    stumbling = Stumbles()
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run({"gossip": stumbling}, out=out, checkpoint_every=0)
    stumbling.armed = False
    resumed = run({"gossip": stumbling}, out=out)
    assert resumed.digests == run({"gossip": Gossip()}).digests


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (object(), "choose"),
        (type("NoVersion", (), {"choose": lambda self, sight: 0})(), "version"),
        (type("Half", (Near,), {"message": lambda self, sight: [1.0]})(), "all of message_len"),
        (type("Long", (Gossip,), {"message_len": 10**9})(), "message_len is 1000000000"),
    ],
)
def test_what_is_no_method_is_refused_by_name(own, said):
    with pytest.raises(sordino.InputError, match=said) as refused:
        run({"mine": own})
    assert "mine" in str(refused.value)


def test_a_candidate_that_does_not_exist_is_refused_with_agent_and_round():
    class Wild(Near):
        def choose(self, sight):
            return 10**6

    with pytest.raises(ValueError, match=r'method "wild", agent \d+, round 1: choose returned 1000000'):
        run({"wild": Wild()})


def test_another_version_does_not_go_on_with_a_folder(tmp_path):
    out = tmp_path / "run"
    run({"near": Near()}, out=out)

    class Newer(Near):
        version = "near 2"

    with pytest.raises(sordino.InputError):
        run({"near": Newer()}, out=out)
