"""What user settings may point to, and that a connection goes nowhere else."""

import datetime
import ipaddress
import re
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidValue, TargetRefused
from ricordo.providers.address_guard import refusal
from ricordo.providers.guarded_transport import GuardedTransport
from ricordo.providers.remote_embedder import RemoteEmbedder, RemoteTarget
from tests.support.endpoints import EmbeddingServer
from tests.support.targets import check_target

pytestmark = pytest.mark.requirement("embeddings.targets")

PUBLIC = "93.184.215.14"
CLOSED = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23"),
    *("2001:db8::/32", "2002::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
]


def test_both_ends_of_every_closed_range() -> None:
    for network in map(ipaddress.ip_network, CLOSED):
        for address in (network[0], network[1], network[-1]):
            assert refusal(str(address)) is not None, address


@given(st.sampled_from(CLOSED), st.data())
def test_everything_inside_a_closed_range(network: str, data: st.DataObject) -> None:
    parsed = ipaddress.ip_network(network)
    place = data.draw(st.integers(0, parsed.num_addresses - 1))
    assert refusal(str(parsed[place])) is not None


@given(st.ip_addresses())
def test_an_open_address_is_one_of_the_whole_internet(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    inside = any(
        address in network
        for network in map(ipaddress.ip_network, CLOSED)
        if network.version == address.version
    )
    if refusal(str(address)) is None:
        assert address.is_global
        assert not inside
        assert not address.is_multicast
    else:
        assert inside or not address.is_global or address.is_reserved


@given(st.ip_addresses(v=4))
def test_no_form_of_ipv6_smuggles_an_ipv4_address(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    for carrier in (
        ipaddress.IPv6Address(number),
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
    ):
        assert refusal(str(carrier)) is not None, carrier


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("10.1.2.3", "private"),
        ("169.254.169.254", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("100.64.1.1", "carrier-grade NAT"),
        ("240.0.0.1", "private|reserved"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("2002:808:808::1", "6to4"),
        ("64:ff9b::808:808", "NAT64"),
        ("2606:4700::1111%eth0", "one network interface"),
        ("not an address", "not an IP address"),
    ],
)
def test_the_reason_is_named(address: str, word: str) -> None:
    assert re.search(word, refusal(address) or "")


@pytest.mark.parametrize("found", [[], ["10.1.2.3"], [PUBLIC, "10.1.2.3"], ["127.0.0.1"]])
def test_nobody_is_told_what_a_name_stands_for(found: list[str]) -> None:
    """Else users could ask which names the operator's network knows."""
    with pytest.raises(TargetRefused) as caught:
        check_target("https://e.example/v1", allow_private=False, resolve=lambda *_: found)
    said = "base_url: e.example has no public address; the operator can allow it with"
    assert str(caught.value) == f"{said} allow_private_embedding_targets"


def test_every_address_of_a_host_counts() -> None:
    def check(*addresses: str) -> None:
        check_target("http://e.example", allow_private=False, resolve=lambda *_: [*addresses])

    check(PUBLIC)
    check("2606:4700::1111")
    for addresses in ([PUBLIC, "10.0.0.1"], []):
        with pytest.raises(TargetRefused, match="e.example has no public address"):
            check(*addresses)


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:9"])
def test_this_machine(host: str) -> None:
    with pytest.raises(TargetRefused, match="loopback|no public address"):
        check_target(f"http://{host}/v1", allow_private=False)
    check_target(f"http://{host}/v1", allow_private=True)


@pytest.mark.parametrize(
    "host",
    [
        *("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.01", "1.2.3", "0x7f.1"),
        *("999.1.1.1", "256.256.256.256", "1.1.1.1.", "a..b", "%30177.0.0.1", "[fe80::1%25eth0]"),
        *("[127.0.0.1]", "x" * 64 + ".com", "e$x.example"),
    ],
)
def test_an_address_has_one_spelling(host: str) -> None:
    for allow_private in (True, False):
        with pytest.raises(InvalidValue, match="HOST must be|expected http"):
            check_target(f"http://{host}/v1", allow_private=allow_private)


@pytest.mark.parametrize("allow_private", [True, False])
def test_what_is_no_address_of_an_endpoint(allow_private: bool) -> None:
    for url in ("file:///etc/passwd", "//e.example", "http://ana:pw@e.example", "http://[::1"):
        with pytest.raises(InvalidValue, match="base_url"):
            check_target(url, allow_private=allow_private, resolve=lambda *_: [PUBLIC])


def test_an_embedder_of_a_user_does_not_reach_this_machine(server: EmbeddingServer) -> None:
    embedder = RemoteEmbedder(RemoteTarget("custom_http", "m", server.base_url), max_width=1024)
    for _ in range(10):  # and it is never "down": the reason stays the same
        with pytest.raises(TargetRefused, match="loopback"):
            embedder.embed(["tea"])
    embedder.close()
    assert server.requests == []


def test_a_name_that_changes_its_mind_is_caught(server: EmbeddingServer) -> None:
    """It was public when it was stored; now it leads here."""
    url = f"http://rebind.example:{server.port}/v1"
    check_target(url, allow_private=False, resolve=lambda *_: [PUBLIC])
    target = RemoteTarget("custom_http", "m", url)
    embedder = RemoteEmbedder(target, max_width=1024, resolve=lambda *_: ["127.0.0.1"])
    with pytest.raises(TargetRefused, match="rebind.example has no public address"):
        embedder.embed(["tea"])
    embedder.close()
    assert server.requests == []


def test_a_proxy_of_the_environment_is_not_used(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.root)
    target = RemoteTarget("custom_http", "m", "http://10.0.0.1/v1")
    embedder = RemoteEmbedder(target, max_width=1024)
    with pytest.raises(TargetRefused):
        embedder.embed(["tea"])
    embedder.close()
    assert server.requests == []


def test_the_connection_goes_to_the_checked_address(server: EmbeddingServer) -> None:
    """The name does not exist, so only the checked address can have been used."""
    asked: list[tuple[str, int]] = []

    def checked(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["::1", "127.0.0.1"]  # nobody listens at the first

    with httpx2.Client(transport=GuardedTransport(checked), trust_env=False) as client:
        body = {"input": ["tea"]}
        answer = client.post(f"http://no.such.invalid:{server.port}/v1/embeddings", json=body)
    assert answer.status_code == 200
    assert asked == [("no.such.invalid", server.port)]
    assert server.requests[0].headers["Host"] == f"no.such.invalid:{server.port}"


def make_certificate(folder: Path, host: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{host}.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def tls_port(tmp_path: Path) -> Iterator[tuple[int, Path, list[str]]]:
    """A TLS server for ``e.example``: its port, its certificate, and the names it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    path = make_certificate(tmp_path, "e.example")
    names: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    context.sni_callback = lambda _socket, name, _context: names.append(name)  # type: ignore[assignment]
    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        running.socket = context.wrap_socket(running.socket, server_side=True)
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running.server_address[1], path, names
        running.shutdown()
        thread.join()


def test_the_certificate_is_that_of_the_name(
    tls_port: tuple[int, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, certificate, names = tls_port
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    transport = GuardedTransport(lambda *_: ["127.0.0.1"])
    with httpx2.Client(transport=transport, trust_env=False) as client:
        assert client.get(f"https://e.example:{port}/").status_code == 204
    transport = GuardedTransport(lambda *_: ["127.0.0.1"])
    with (
        httpx2.Client(transport=transport, trust_env=False) as client,
        pytest.raises(httpx2.ConnectError, match="(?i)certificate"),
    ):
        client.get(f"https://other.example:{port}/")
    assert names == ["e.example", "other.example"]
