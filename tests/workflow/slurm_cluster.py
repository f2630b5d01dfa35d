"""A real Slurm from Debian's packages: one node with eight pretended GPUs and accounting, in a folder of its own."""

import contextlib
import os
import pwd
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from system import PATH

USER = pwd.getpwuid(os.getuid()).pw_name
DATABASE_DAEMON = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={dbd_port}
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage_port}
StorageUser=root
StorageLoc=slurm
PidFile={folder}/slurmdbd.pid
"""
# A node may have what this machine has not (config_overrides). A requeued job waits for cred_expire seconds.
CLUSTER = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={dbd_port}
AccountingStoragePass={folder}/munge.socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
JobRequeue=0
ReturnToService=2
KillWait=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=64 RealMemory=1000000 Gres=gpu:8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class SlurmCluster:
    """Daemons that a ``with`` block starts and stops; ``environment`` is what users of the cluster need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # a short path: munge's socket lies in it
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH, "USER": USER}
        self._daemons: list[subprocess.Popen] = []

    def __enter__(self) -> "SlurmCluster":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(subprocess.SubprocessError, RuntimeError):
            self.call("scancel", f"--user={USER}")
            self._wait("the end of the jobs", lambda: not self.call("squeue", "-h"))
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def call(self, *command: str) -> str:
        """The output of a command that must succeed."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True, timeout=30
        ).stdout

    def _start(self) -> None:
        folder = self.folder
        names = ("dbd_port", "storage_port", "controller_port", "node_port")
        values = dict(zip(names, free_ports(len(names)), strict=True))
        values |= {"folder": folder, "user": USER, "host": socket.gethostname().split(".")[0]}
        for name in ("state", "spool", "database"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        (folder / "slurm.conf").write_text(CLUSTER.format(**values))
        (folder / "slurmdbd.conf").write_text(DATABASE_DAEMON.format(**values))
        (folder / "slurmdbd.conf").chmod(0o600)
        for device in range(8):
            (folder / f"gpu{device}").touch()
        (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-7]\n")

        files = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("key", "log", "pid", "seed")]
        self._daemon("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files)
        data = ["--no-defaults", f"--user={USER}", f"--datadir={folder}/database"]
        self.call("mariadb-install-db", *data)
        listen = ["--bind-address=127.0.0.1", f"--port={values['storage_port']}", f"--socket={folder}/database.socket"]
        self._daemon("mariadbd", *data, *listen, "--skip-grant-tables")
        self._wait("the database", lambda: listens(values["storage_port"]))
        self._daemon("slurmdbd", "-D")
        self._wait("slurmdbd", lambda: self.call("sacctmgr", "-i", "add", "cluster", "test"))
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D")
        self._wait("the node", lambda: self.call("sinfo", "-h", "-o", "%T").strip() == "idle")

    def _daemon(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("w") as log:
            self._daemons.append(
                subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)
            )

    def _wait(self, what: str, ready: Callable[[], object]) -> None:
        for _ in range(120):
            for daemon in self._daemons:
                if daemon.poll() is not None:
                    log = self.folder / f"{daemon.args[0]}.out"
                    raise RuntimeError(f"{daemon.args[0]} ended: {log.read_text()[-2000:]}")
            with contextlib.suppress(subprocess.SubprocessError):
                if ready():
                    return
            time.sleep(0.5)
        raise RuntimeError(f"{what} did not come up; logs in {self.folder}")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
