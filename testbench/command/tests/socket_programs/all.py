"""What a program of one thread does with sockets, on both sides: `all.py` on rank 0 and 1."""
import errno
import fcntl
import os
import select
import socket
import struct
import termios
import time

RANK = int(os.environ["LANIGON_RANK"])
PORT = 700
with open(__file__, "rb") as source:
    OWN = source.read()


def fails(number, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == number, (errno.errorcode[number], error)
    else:
        raise AssertionError(errno.errorcode[number])


def exactly(s, count):
    data = b""
    while len(data) < count:
        part = s.recv(count - len(data))
        assert part, "an early end"
        data += part
    return data


def pattern(count):
    return bytes(i * 7 % 251 for i in range(count))


def refusals():
    for where, number in (
        (("node0", 9), errno.ECONNREFUSED),
        (("localhost", 9), errno.ECONNREFUSED),
        (("10.0.200.1", 9), errno.ENETUNREACH),
    ):
        fails(number, socket.create_connection, where)
    fails(errno.ENOTCONN, socket.socket().recv, 1)
    fails(errno.ENOTCONN, socket.socket().getpeername)
    fails(errno.EADDRNOTAVAIL, socket.socket().bind, ("node%d" % (1 - RANK), 1))
    fails(errno.EPROTONOSUPPORT, socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
    fails(errno.EAFNOSUPPORT, socket.socket, socket.AF_INET6)
    try:
        socket.getaddrinfo("example.org", 80)
        raise AssertionError("a name")
    except socket.gaierror:
        pass


def own():
    """A socket to itself, without blocking."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", 0))
    port = listener.getsockname()[1]
    assert port >= 32768
    fails(errno.EADDRINUSE, socket.socket().bind, ("", port))
    listener.listen()
    listener.setblocking(False)
    fails(errno.EAGAIN, listener.accept)
    client = socket.socket()
    client.setblocking(False)
    assert client.connect_ex(("127.0.0.1", port)) == errno.EINPROGRESS
    assert select.select([listener], [client], [], 1) == ([listener], [client], [])
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    assert client.getpeername()[1] == port
    server, peer = listener.accept()
    assert peer == client.getsockname() and peer[0] == "10.0.0.%d" % (RANK + 1)
    assert server.type == socket.SOCK_STREAM and server.getpeername() == peer
    # How much fits before anything is read.
    server.setblocking(False)
    count = 0
    while True:
        try:
            count += server.send(b"x" * 100_000)
        except BlockingIOError:
            break
    assert count == 1 << 20, count
    client.setblocking(True)
    exactly(client, count)
    client.settimeout(0.5)
    before = time.monotonic()
    try:
        client.recv(1)
        raise AssertionError("a byte")
    except TimeoutError:
        assert 0.5 <= time.monotonic() - before < 0.501
    for s in (client, server, listener):
        s.close()


def waits(s):
    """What has come, by every call that waits: the other side has sent five bytes."""
    assert select.select([s], [], [], 1) == ([s], [], [])
    poll = select.poll()
    poll.register(s, select.POLLIN | select.POLLOUT)
    assert poll.poll(1000) == [(s.fileno(), select.POLLIN | select.POLLOUT)]
    epoll = select.epoll()
    epoll.register(s, select.EPOLLIN | select.EPOLLET)
    assert epoll.poll(1) == [(s.fileno(), select.EPOLLIN)]
    assert epoll.poll(0) == []
    epoll.modify(s, select.EPOLLIN)
    assert epoll.poll(0) == [(s.fileno(), select.EPOLLIN)]
    read, write = os.pipe()
    epoll.register(read, select.EPOLLIN)
    os.write(write, b"!")
    assert sorted(fd for fd, _ in epoll.poll(0)) == sorted((s.fileno(), read))
    assert select.select([s, read], [s], [], 1) == ([s, read], [s], [])
    epoll.close()
    assert struct.unpack("i", fcntl.ioctl(s, termios.FIONREAD, b"\0" * 4))[0] == 5
    assert s.recv(2, socket.MSG_PEEK) == b"he" and s.recvmsg(2)[0] == b"he"
    again = s.dup()
    assert os.read(again.fileno(), 2) == b"ll"
    again.close()
    buffers = [bytearray(1), bytearray(4)]
    assert os.readv(s.fileno(), buffers) == 1 and buffers[0] == b"o"


def server():
    listener = socket.create_server(("", PORT))
    s, peer = listener.accept()
    assert peer[0] == "10.0.0.2" and s.getsockname() == ("10.0.0.1", PORT)
    assert socket.gethostname() == "node0" and socket.gethostbyname("node1") == "10.0.0.2"
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    waits(s)
    s.sendmsg([b"wor", b"ld"])
    # More than fits, in both directions one after the other.
    assert exactly(s, 3_000_000) == pattern(3_000_000)
    s.sendall(pattern(2_000_000))
    with open(__file__, "rb") as file:
        assert s.sendfile(file, 10) == len(OWN) - 10
        file.seek(7)
        assert os.sendfile(s.fileno(), file.fileno(), None, 20) == 20 and file.tell() == 27
        fails(errno.EINVAL, os.sendfile, s.fileno(), s.fileno(), None, 1)
    # Half closed.
    assert s.recv(9) == b""
    s.sendall(b"after")
    s.close()
    s, _ = listener.accept()
    s.recv(1)
    s.close()
    listener.close()


def client():
    s = socket.create_connection(("node0", PORT))
    s.sendall(b"hello")
    assert s.recv(5, socket.MSG_WAITALL) == b"world"
    s.sendall(pattern(3_000_000))
    assert exactly(s, 2_000_000) == pattern(2_000_000)
    assert exactly(s, len(OWN) + 10) == OWN[10:] + OWN[7:27]
    s.shutdown(socket.SHUT_WR)
    fails(errno.EPIPE, s.send, b"x")
    assert exactly(s, 5) == b"after" and s.recv(1) == b""
    s.close()
    s = socket.create_connection(("node0", PORT))
    s.sendall(b"ab")
    fails(errno.ECONNRESET, s.recv, 1)
    assert s.recv(1) == b""


before = time.time()
time.sleep(1.5)
assert 1.5 <= time.time() - before < 1.501
refusals()
own()
(server if RANK == 0 else client)()
print("rank", RANK, "all right", flush=True)
