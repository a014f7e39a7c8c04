"""What happens where a real engine is missing."""

from collections.abc import Callable

import pytest


def test_a_missing_engine_skips_with_its_name(
    require_engine: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a user's machine a test whose engine is missing is skipped and says which."""
    monkeypatch.delenv("CLUSTERWRIGHT_REQUIRE_ENGINES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-engine"):
        require_engine("bash", "no-such-engine")
    with pytest.raises(pytest.skip.Exception, match="needs root"):
        require_engine("bash", working=False, reason="needs root")


def test_a_missing_engine_fails_where_all_are_required(
    require_engine: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In continuous integration nothing may be skipped silently."""
    monkeypatch.setenv("CLUSTERWRIGHT_REQUIRE_ENGINES", "1")
    with pytest.raises(pytest.fail.Exception, match=r"no-such-engine.*packages\.txt"):
        require_engine("no-such-engine")
    require_engine("bash")
