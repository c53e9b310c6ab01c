"""A throw-away authority for tests of TLS: certificates of one day, made when a test asks for them."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = dt.timedelta(days=1)


@final
class Authority:
    """Signs certificates.

    Args:
        folder: Where files are written.
        name: Its name, and the beginning of those of its files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name}.pem"
        """Its own certificate."""
        own = self._builder(self._name, self._key.public_key(), ends_in=_DAY)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._write(self.file, own)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, ends_in: dt.timedelta
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(self._name, subject, key, x509.random_serial_number())
        return builder.not_valid_before(now - 2 * _DAY).not_valid_after(now + ends_in)

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def certificate(self, name: str, *addresses: str, ends_in: dt.timedelta = _DAY) -> tuple[Path, Path]:
        """Return the files of a new certificate for some addresses, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        names = [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        builder = self._builder(subject, key.public_key(), ends_in=ends_in)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate, secret = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        self._write(certificate, builder)
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        secret.write_bytes(key.private_bytes(*form))
        return certificate, secret

    def listening(
        self, *addresses: str, demands: Authority | None = None, ends_in: dt.timedelta = _DAY
    ) -> ssl.SSLContext:
        """Return the context of a side that listens; with `demands`, the other side must show a certificate of that authority."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*self.certificate("listening", *addresses, ends_in=ends_in))
        if demands is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(demands.file)
        return context

    def trusting(self, *, shows: Authority | None = None) -> ssl.SSLContext:
        """Return the context of a side that dials and trusts this authority; with `shows`, it shows a certificate of that one."""
        context = ssl.create_default_context(cafile=str(self.file))
        if shows is not None:
            context.load_cert_chain(*shows.certificate("dialling"))
        return context
