"""Adapters that misbehave: `faulty.py MODE [ID]`. All but the named case are answered by the good adapter."""

import importlib.util
import json
import os
import pathlib
import signal
import sys
import time

path = pathlib.Path(__file__).resolve().parents[2] / "vectors" / "adapter.py"
spec = importlib.util.spec_from_file_location("adapter", path)
adapter = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(adapter)

mode = sys.argv[1]
target = sys.argv[2] if len(sys.argv) > 2 else None
out = sys.stdout.buffer


def say(value, flush=True):
    out.write((value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n")
    if flush:
        out.flush()


def misbehave(name, good):
    if mode == "crash":
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == "crash-buffered":
        os._exit(9)
    elif mode == "hang":
        if len(sys.argv) > 3:
            pathlib.Path(sys.argv[3]).write_text(str(os.getpid()))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    elif mode == "silent":
        pass
    elif mode == "garbage":
        say(b"Traceback: \x1b[31moh no")
    elif mode == "latin1":
        say(b'{"id": "\xe9"}')
    elif mode == "twice":
        say(good)
        say(good)
    elif mode == "stranger":
        say({"id": "nobody", "output": {}})
    elif mode == "both":
        say({"id": name, "output": {}, "error": {"code": "x", "message": ""}})
    elif mode == "no-code":
        say({"id": name, "error": "x"})
    elif mode == "array":
        say([name])
    elif mode == "wrong":
        say({"id": name, "output": {"ceilings_ms": [1]}})
    elif mode == "unsupported":
        say({"id": name, "error": {"code": "unsupported", "message": ""}})
    elif mode == "extra":
        good["output"]["note"] = "free"
        say(good)


if mode == "banner":
    say(b"ready")
if mode == "deaf":
    os.close(0)
    sys.exit(0)

kept = []
for line in sys.stdin.buffer:
    good = adapter.answer(line)
    if target is not None and good["id"] == target:
        misbehave(target, good)
    elif mode == "reverse":
        kept.append(good)
    else:
        say(good, flush=mode not in ("buffered", "crash-buffered"))
for good in reversed(kept):
    say(good)
if mode == "exit3":
    sys.exit(3)
if mode == "afterthought":
    say(b"bye")
if mode == "linger":
    time.sleep(600)
