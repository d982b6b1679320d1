"""Beam's portable stack on this machine: a job service and a pool of workers, each in a process of its own.

The workers have what a worker elsewhere has: the installed packages, no vocabulary, none of the launching
program's modules, and no network. They are started in an empty folder, and connections to anything but this
machine are refused and noted.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

_GUARD = '''
"""Refuses connections that leave the machine, in every Python process that finds this module."""

import os
import socket

_connect, _lookup = socket.socket.connect, socket.getaddrinfo


def _check(host):
    if isinstance(host, bytes):
        host = host.decode()
    if host not in (None, "", "localhost", "::1", "0.0.0.0") and not str(host).startswith("127."):
        with open(os.environ["NETWORK_LOG"], "a") as log:
            print(host, file=log)
        raise OSError(f"no network here: {host}")


def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        _check(address[0])
    return _connect(self, address)


def getaddrinfo(host, *args, **kwargs):
    _check(host)
    return _lookup(host, *args, **kwargs)


socket.socket.connect, socket.getaddrinfo = connect, getaddrinfo
'''


@dataclass(frozen=True)
class PortableStack:
    """A running stack.

    Attributes:
        flags: Beam options that send a job there.
        folder: Where its processes keep their files.
    """

    flags: tuple[str, ...]
    folder: Path

    @property
    def refused(self) -> str:
        """Hosts that a worker tried to reach."""
        log = self.folder / "network.log"
        return log.read_text() if log.exists() else ""


@contextmanager
def portable_stack(folder: Path) -> Iterator[PortableStack]:
    """A stack that runs until the block is left."""
    port_file = folder / "job-service.port"
    worker_port = free_port()
    with ExitStack() as running:
        job_service = ["apache_beam.runners.portability.local_job_service_main", "--port=0"]
        job_service += [f"--port_file={port_file}", f"--staging_dir={folder / 'staging'}"]
        running.enter_context(process(job_service, folder, "job-service"))
        pool = ["apache_beam.runners.worker.worker_pool_main", f"--service_port={worker_port}"]
        running.enter_context(process(pool, folder, "workers"))
        wait_for(port_file.exists, "the job service")
        wait_for(lambda: is_listening(worker_port), "the worker pool")
        flags = (
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{port_file.read_text()}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{worker_port}",
        )
        yield PortableStack(flags, folder)


@contextmanager
def process(module: list[str], folder: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module as a process in an empty folder, ended with the block, and its children with it."""
    home = folder / name
    home.mkdir()
    with (folder / f"{name}.log").open("wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=home,
            env=cut_off(folder),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield running
    finally:
        stop(running)


def stop(running: subprocess.Popen[bytes]) -> None:
    """End a process that leads its own group, and all that it has started."""
    for sign, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(running.pid, sign)
            running.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def cut_off(folder: Path) -> dict[str, str]:
    """The environment of a process without network, vocabularies or modules of ours."""
    guard = folder / "guard"
    guard.mkdir(exist_ok=True)
    (guard / "sitecustomize.py").write_text(_GUARD)
    (folder / "empty").mkdir(exist_ok=True)
    return os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(guard),
        "NETWORK_LOG": str(folder / "network.log"),
        "TIKTOKEN_CACHE_DIR": str(folder / "empty"),
        "HF_HUB_OFFLINE": "1",
    }


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(happened, what: str, seconds: float = 60) -> None:
    """Wait until something has happened.

    Raises:
        TimeoutError: If it has not.
    """
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come up in {seconds:g} seconds")
        time.sleep(0.05)
