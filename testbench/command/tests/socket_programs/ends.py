"""Programs that end otherwise: the first argument says how."""
import os
import signal
import socket
import subprocess
import sys
import time

HOW = sys.argv[1]
RANK = int(os.environ["LANIGON_RANK"])


def serve():
    listener = socket.create_server(("", 700))
    while True:
        s, _ = listener.accept()
        while s.recv(100):
            pass
        s.close()


def connect():
    return socket.create_connection(("node0", 700))


if HOW == "exit" and RANK == 1:
    connect()
    sys.exit(7)
elif HOW == "kill" and RANK == 1:
    connect().sendall(b"x")
    os.kill(os.getpid(), signal.SIGKILL)
elif HOW == "wait" and RANK == 1:
    connect().recv(1)
elif HOW == "fork" and RANK == 1:
    child = os.fork()
    if child == 0:
        try:
            socket.create_connection(("10.0.0.1", 700))
        except OSError:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    text = subprocess.run(["echo", "a child"], capture_output=True).stdout
    assert text == b"a child\n"
    connect().sendall(text)
elif HOW == "daemon":
    # It has left the process group, and its parent has ended.
    subprocess.run("setsid sleep 3607.25 < /dev/null > /dev/null 2>&1 &", shell=True)
elif HOW == "spin":
    while True:
        pass
elif HOW == "become" and RANK == 1:
    connect().sendall(b"x")
    os.execvp("python3", ["python3", sys.argv[0], "exit"])
elif HOW == "talk" and RANK > 0:
    talker = connect()
    talker.sendall(b"hello" * 3)
    talker.shutdown(socket.SHUT_WR)
    print(f"rank {RANK} of {os.environ['LANIGON_SIZE']} heard {talker.recv(100)}", flush=True)
elif HOW == "talk":
    listener = socket.create_server(("", 700))
    while True:
        s, _ = listener.accept()
        while s.recv(100):
            pass
        s.sendall(b"hello")
        s.close()
elif HOW == "alone":
    socket.create_server(("", 700)).accept()
elif RANK == 0:
    serve()
