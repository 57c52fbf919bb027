"""nginx in a folder of a test, as one process in the foreground."""

from __future__ import annotations

from pathlib import Path

from tests.support.process import ServerProcess

_CONFIGURATION = """
user root;
master_process off;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    client_body_temp_path {bodies}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {http}
    server {{ listen 127.0.0.1:{port}; {server} }}
}}
"""


def nginx(
    folder: Path, port: int, server: str, http: str = "access_log off;", bodies: Path | None = None
) -> ServerProcess:
    """`server` and `http`: further lines of these blocks; `bodies`: where it keeps what it receives."""
    file = folder / "nginx.conf"
    file.write_text(_CONFIGURATION.format(folder=folder, bodies=bodies or folder, port=port, server=server, http=http))
    return ServerProcess(
        ["/usr/sbin/nginx", "-c", str(file), "-e", str(folder / "error.log")], port, folder / "nginx.out"
    )
