"""What every answer of the page says to the browser: how little it may do with it."""

from typing import Final

_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

SECURITY: Final = {
    "Content-Security-Policy": "; ".join(f"{what} {where}" for what, where in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: forms would then come with the origin `null`, like those of anybody.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
PRIVATE: Final = {**SECURITY, "Cache-Control": "no-store"}
"""For pages: what is remembered stays in no cache."""
FOREVER: Final = {**SECURITY, "Cache-Control": "public, max-age=31536000, immutable"}
"""For files whose address changes whenever they do."""
