"""Laws of the guard: another host, no token, a form of another page are refused."""

import re

import pytest
from starlette.testclient import TestClient

from tasks.browse.guard import Guard, is_loopback
from tasks.browse.opened import StoreSnapshots
from tests.fakes.browsing import PORT, client_of, judged_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreSnapshots:
    folder = tmp_path_factory.mktemp("guarded") / "store"
    return StoreSnapshots(judged_store(folder, ("a query",)).settings)


def client(store: StoreSnapshots, guard: Guard | None = None) -> TestClient:
    return client_of(store, guard)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (f"127.0.0.1:{PORT}", 200), (f"localhost:{PORT}", 200), (f"[::1]:{PORT}", 200),
        ("127.0.0.1", 421), ("127.0.0.1:1", 421), (f"evil.example:{PORT}", 421),
        (f"127.0.0.1.evil.example:{PORT}", 421), (f"10.0.0.1:{PORT}", 421), ("", 421),
    ],
)  # fmt: skip
def test_a_name_of_another_host_is_refused(store: StoreSnapshots, host: str, status: int) -> None:
    assert client(store).get("/pairs", headers={"Host": host}).status_code == status


def test_beyond_loopback_a_token_is_demanded_and_kept_in_a_cookie(store: StoreSnapshots) -> None:
    browser = client(store, Guard("0.0.0.0", PORT, "secret"))
    assert browser.get("/pairs").status_code == 401
    assert browser.get("/pairs?token=wrong").status_code == 401
    assert browser.get("/style.css").status_code == 401
    answer = browser.get("/pairs?token=secret&status=labelled")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/pairs?status=labelled"
    assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
    assert browser.get("/pairs").status_code == 200
    evil = {"Host": f"evil.example:{PORT}"}
    assert browser.get("/pairs?token=secret", headers=evil).status_code == 421


def test_a_browser_is_known_for_weeks_after_its_last_visit(store: StoreSnapshots) -> None:
    browser = client(store)
    first, later = (browser.get("/pairs").headers["set-cookie"] for _ in range(2))
    assert first == later
    age = re.search(r"Max-Age=(\d+); HttpOnly; SameSite=Strict", first)
    assert age
    assert int(age[1]) >= 21 * 24 * 3600


@pytest.mark.parametrize("value", ["x", '"a\\012Set-Cookie: b=c"', "x" * 33, "é" * 32])
def test_a_cookie_that_this_server_never_gave_is_replaced(
    store: StoreSnapshots, value: str
) -> None:
    name = f"cosqa_session_{PORT}"
    answer = client(store).get("/pairs", headers={"Cookie": f"{name}={value}".encode()})
    assert answer.status_code == 200
    assert re.match(rf"{name}=[\w-]{{32}}; ", answer.headers["set-cookie"])


@pytest.mark.parametrize("slashes", ["//", "///", "/%2F", "/%2f%2f"])
def test_whoever_shows_a_token_is_led_to_these_pages_alone(
    store: StoreSnapshots, slashes: str
) -> None:
    browser = client(store, Guard("0.0.0.0", PORT, "secret"))
    answer = browser.get(f"http://127.0.0.1:{PORT}{slashes}evil.invalid/x?token=secret")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/evil.invalid/x?"


def test_an_address_with_a_token_is_printed() -> None:
    assert Guard("192.0.2.7", 4280, "abc").address == "http://192.0.2.7:4280/?token=abc"
    assert Guard("::1", 4280).address == "http://[::1]:4280/"


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.8.8.8", True),
     ("0.0.0.0", False), ("::", False), ("192.0.2.1", False), ("example.org", False)],
)  # fmt: skip
def test_loopback_is_known(host: str, *, expected: bool) -> None:
    assert is_loopback(host) == expected
