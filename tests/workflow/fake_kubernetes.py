"""The few answers of a Kubernetes API server that Snakemake's executor needs; jobs run as processes of this machine."""

import base64
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CONFIGURATION = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "test",
    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    "users": [{"name": "test", "user": {}}],
}


class FakeKubernetes:
    """A server that a ``with`` block starts and stops: keeps what it is sent, runs each job in an empty folder."""

    def __init__(self, folder: Path, image: dict[str, str]) -> None:
        """``image``: the environment variables that the containers' image would set."""
        self.folder, self.image = folder, image
        self.jobs: list[dict[str, Any]] = []
        self.secrets: dict[str, dict[str, str]] = {}
        self._processes: dict[str, subprocess.Popen] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.configuration = folder / "kubeconfig"
        cluster = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        clusters = [{"name": "test", "cluster": cluster}]
        self.configuration.write_text(json.dumps(CONFIGURATION | {"clusters": clusters}))

    def __enter__(self) -> "FakeKubernetes":
        threading.Thread(target=self._server.serve_forever).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for process in self._processes.values():
            process.kill()
            process.wait()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What the server says to a request."""
        if method == "POST" and path.endswith("/secrets"):
            self.secrets[body["metadata"]["name"]] = body["data"]
            return body
        if method == "POST" and path.endswith("/jobs"):
            self.jobs.append(body)
            self._run(body)
            return body
        if method == "GET" and (job := re.search(r"/jobs/([^/]+)/status$", path)):
            status = self._processes[job[1]].poll()
            return {"status": {"active": 1} if status is None else {"failed" if status else "succeeded": 1}}
        return {"items": []} if method == "GET" else {}

    def logs(self) -> str:
        """What all jobs printed."""
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("snakejob-*.log")))

    def _run(self, job: dict[str, Any]) -> None:
        name, (container,) = job["metadata"]["name"], job["spec"]["template"]["spec"]["containers"]
        references = {one["name"]: one["valueFrom"]["secretKeyRef"] for one in container.get("env", [])}
        secrets = {name: self.secrets[key["name"]][key["key"]] for name, key in references.items()}
        environment = self.image | {name: base64.b64decode(value).decode() for name, value in secrets.items()}
        (self.folder / name).mkdir()
        with (self.folder / f"{name}.log").open("w") as log:
            self._processes[name] = subprocess.Popen(
                container["command"] + container["args"],
                cwd=self.folder / name,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )


def _handler(cluster: FakeKubernetes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            answer = json.dumps(cluster.answer(self.command, self.path.partition("?")[0], body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_DELETE = _reply

        def log_message(self, *_: object) -> None:
            pass

    return Handler
