"""An authorisation server as other people run it: keys, metadata, and tokens that it signs."""

from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ricordo.testing import LoopbackServer, Response, error_response, json_response


class LoginServer(LoopbackServer):
    """Publishes its keys; they can be changed, and the server can fail."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[str, Any] = {"first": ec.generate_private_key(ec.SECP256R1())}
        self.fails = False
        self.asked: list[str] = []

    def on_get(self, path: str) -> Response:
        """Its metadata, and its keys."""
        self.asked.append(path)
        if self.fails:
            return error_response(500, "broken")
        if path == "/.well-known/openid-configuration/realm":
            return json_response(200, {"issuer": self.name, "jwks_uri": f"{self.root}/keys"})
        if path == "/keys":
            return json_response(200, {"keys": [_public(*key) for key in self.keys.items()]})
        return error_response(404, "not found")

    @property
    def name(self) -> str:
        """How its tokens name it."""
        return f"{self.root}/realm"

    def token(self, *, kid: str | None = "first", algorithm: str = "", **claims: Any) -> str:
        """A token with these claims, signed with one of its keys."""
        key = self.keys[kid or "first"]
        usual = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
        header = {} if kid is None else {"kid": kid}
        said = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(said, key, algorithm or usual, headers=header)


def _public(kid: str, key: Any) -> dict[str, Any]:
    is_rsa = isinstance(key, rsa.RSAPrivateKey)
    kind = jwt.algorithms.RSAAlgorithm if is_rsa else jwt.algorithms.ECAlgorithm
    described: dict[str, Any] = kind.to_jwk(key.public_key(), as_dict=True)
    return {**described, "kid": kid, "use": "sig", "alg": "RS256" if is_rsa else "ES256"}
