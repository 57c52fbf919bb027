"""A real ActiveMQ Artemis of a test's own, on a free port of 127.0.0.1, with logins. Its few files of configuration are
written here: `artemis create` takes a second Java for them.

    with Artemis(folder) as broker:
        connect(broker.url, USER, PASSWORD)
"""

from __future__ import annotations

from pathlib import Path

from tests.support.certificates import Certificate
from tests.support.paths import ROOT, require
from tests.support.process import ServerProcess, free_port

HOME = ROOT / ".kafka" / "artemis"
USER, PASSWORD = "admin", "secret-of-the-tests"

# Without fsync: a killed process loses nothing by it.
BROKER = """<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
  <name>test</name>
  <persistence-enabled>true</persistence-enabled>
  <journal-type>NIO</journal-type>
  <journal-datasync>false</journal-datasync>
  <journal-min-files>2</journal-min-files>
  <journal-file-size>1M</journal-file-size>
  <max-disk-usage>-1</max-disk-usage>
  <critical-analyzer>false</critical-analyzer>
  <paging-directory>{folder}/data/paging</paging-directory>
  <bindings-directory>{folder}/data/bindings</bindings-directory>
  <journal-directory>{folder}/data/journal</journal-directory>
  <large-messages-directory>{folder}/data/large</large-messages-directory>
  <acceptors>{acceptors}</acceptors>
  <security-settings><security-setting match="#">{permissions}</security-setting></security-settings>
  <address-settings><address-setting match="#">
    <dead-letter-address>DLQ</dead-letter-address>
    <max-delivery-attempts>-1</max-delivery-attempts>
    <auto-delete-queues>false</auto-delete-queues>
    <auto-delete-addresses>false</auto-delete-addresses>
  </address-setting></address-settings>
  <addresses><address name="DLQ"><anycast><queue name="DLQ"/></anycast></address></addresses>
</core></configuration>
"""
BOOTSTRAP = """<broker xmlns="http://activemq.apache.org/schema">
  <jaas-security domain="activemq"/><server configuration="file:{folder}/etc/broker.xml"/>
</broker>
"""
LOGIN = """activemq {
  org.apache.activemq.artemis.spi.core.security.jaas.PropertiesLoginModule required
  org.apache.activemq.jaas.properties.user="users.properties"
  org.apache.activemq.jaas.properties.role="roles.properties";
};
"""
LOG4J = """rootLogger.level=WARN
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %-5p [%c] %m%n
"""
PERMISSIONS = (
    "createNonDurableQueue deleteNonDurableQueue createDurableQueue deleteDurableQueue createAddress deleteAddress "
    "consume browse send manage"
)


class Artemis(ServerProcess):
    """`start()` after `stop()` or `kill()` goes on with the same data and port."""

    def __init__(self, folder: Path, certificate: Certificate | None = None) -> None:
        """With a certificate, `tls_port` takes STOMP over TLS."""
        home = next(require(HOME).glob("apache-artemis-*"))
        port, self.tls_port = free_port(), free_port()
        etc = folder / "etc"
        etc.mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        acceptors = f'<acceptor name="stomp">tcp://127.0.0.1:{port}?protocols=STOMP,CORE</acceptor>'
        if certificate is not None:
            store = f"keyStoreType=PKCS12;keyStorePath={certificate.pkcs12};keyStorePassword={certificate.password}"
            tls = f"tcp://127.0.0.1:{self.tls_port}?protocols=STOMP;sslEnabled=true;{store}"
            acceptors += f'<acceptor name="tls">{tls}</acceptor>'
        permissions = "".join(f'<permission type="{each}" roles="amq"/>' for each in PERMISSIONS.split())
        files = {
            "broker.xml": BROKER.format(folder=folder, acceptors=acceptors, permissions=permissions),
            "bootstrap.xml": BOOTSTRAP.format(folder=folder),
            "management.xml": '<management-context xmlns="http://activemq.apache.org/schema"/>',
            "login.config": LOGIN,
            "users.properties": f"{USER} = {PASSWORD}\nguest = guest-pw\n",
            "roles.properties": f"amq = {USER}\nguests = guest\n",
            "log4j2.properties": LOG4J,
        }
        for name, text in files.items():
            (etc / name).write_text(text)
        settings = {
            "java.security.auth.login.config": etc / "login.config",
            "log4j2.configurationFile": etc / "log4j2.properties",
            "artemis.home": home,
            "artemis.instance": folder,
            "artemis.instance.etc": etc,
            "data.dir": folder / "data",
            "java.io.tmpdir": folder / "tmp",
        }
        command = ["java", "-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += [f"-D{name}={value}" for name, value in settings.items()]
        command += ["-cp", str(home / "lib" / "artemis-boot.jar"), "org.apache.activemq.artemis.boot.Artemis", "run"]
        super().__init__(command, port, folder / "artemis.log")

    def start(self, timeout_seconds: float = 90) -> float:
        return super().start(timeout_seconds)

    @property
    def url(self) -> str:
        return f"stomp://127.0.0.1:{self.port}"
