"""Starts services that speak HTTPS."""

import pytest

pytest.register_assert_rewrite("tls_service")

from harness.certificates import Authority  # noqa: E402
from tls_service import TlsService  # noqa: E402


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def service(authority, tmp_path_factory):
    """A service that tests share: they do not change its certificate."""
    with TlsService(authority, tmp_path_factory.mktemp("tls"), DOORWARD_LOG="debug") as service:
        yield service


@pytest.fixture
def new_service(authority, tmp_path):
    return lambda **options: TlsService(authority, tmp_path, **options)
