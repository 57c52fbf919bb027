"""A Kerberos realm of a test's own: a KDC on a free port of 127.0.0.1, principals and their keytabs."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from tests.support.members import until
from tests.support.process import free_port

REALM = "BARNABAS.TEST"
_KDC = "/usr/sbin/krb5kdc"


class Realm:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.config = folder / "krb5.conf"
        self.environ = os.environ | {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5RCACHENAME": f"dfl:{folder / 'replays'}",
        }
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
            f" dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self._port}\n }}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{self._port}\n kdc_tcp_listen = 127.0.0.1:{self._port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n"
            f"  acl_file = {folder}/acl\n }}\n"
        )
        self._run("/usr/sbin/kdb5_util", "create", "-s", "-r", REALM, "-P", "master-secret")
        self._process = subprocess.Popen(
            [_KDC, "-n", "-r", REALM], env=self.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._answers, "the KDC listens")

    def keytab(self, principal: str) -> Path:
        """A new principal, and the file with its key."""
        file = self._folder / f"{principal.replace('/', '-')}.keytab"
        self._run("/usr/sbin/kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
        self._run("/usr/sbin/kadmin.local", "-r", REALM, "-q", f"ktadd -k {file} {principal}")
        return file

    def ticket(self, principal: str, keytab: Path) -> dict[str, str]:
        """What the environment of a client says that has a ticket of this principal."""
        cache = self._folder / f"{principal.replace('/', '-')}.cache"
        self._run("kinit", "-c", str(cache), "-k", "-t", str(keytab), principal)
        return self.environ | {"KRB5CCNAME": f"FILE:{cache}"}

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _answers(self) -> bool:
        assert self._process.poll() is None, "the KDC has ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)
