//! The command for its users: addresses, clients, and its end.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use super::client::{Client, PAIR, framed};

/// A file of the tests. Names are unique per test, because tests run in parallel.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn command(name: &str, text: &str, options: &[&str]) -> Command {
    let scenario = file(&format!("gdb-{name}.toml"));
    std::fs::write(&scenario, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.arg("gdb").arg(scenario).args(options);
    command
}

/// A running server.
pub struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Address for gdb.
    pub target: String,
}

impl Server {
    pub fn start(name: &str, options: &[&str]) -> Self {
        Self::of(name, PAIR, options)
    }

    /// A server for a scenario.
    pub fn of(name: &str, text: &str, options: &[&str]) -> Self {
        let mut command = command(name, text, options);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("target remote")).unwrap();
        let target = line.split("target remote ").nth(1).unwrap();
        let target = target.split('\'').next().unwrap().to_owned();
        Self {
            child,
            output,
            target,
        }
    }

    fn tcp(&self) -> Client {
        let port: u16 = self.target.strip_prefix(':').unwrap().parse().unwrap();
        Client::over_tcp(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap())
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        let done = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(done.success());
    }

    /// Waits for the end; returns the exit code, and the output on standard error.
    pub fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut said).unwrap();
        self.output.read_to_string(&mut String::new()).unwrap();
        (status.code(), said)
    }
}

#[track_caller]
fn check_refused(options: &[&str], reason: &str) {
    let Output { status, stderr, .. } = command("refused", PAIR, options).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("error: ") && said.contains(reason),
        "{said}"
    );
}

#[test]
fn wrong_requests() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    check_refused(&["--port", &port], &format!("port {port} is in use"));
    check_refused(&["--port", "70000"], "70000");
    check_refused(&["--node", "2"], "there is no node 2");
    let plain = file("gdb-plain-file");
    std::fs::write(&plain, "mine").unwrap();
    check_refused(&["--socket", plain.to_str().unwrap()], "is no socket");
    assert_eq!(std::fs::read_to_string(&plain).unwrap(), "mine");
    let taken = file("gdb-taken.sock");
    let _ = std::fs::remove_file(&taken);
    let _listener = UnixListener::bind(&taken).unwrap();
    check_refused(&["--socket", taken.to_str().unwrap()], "is in use");
    assert!(UnixStream::connect(&taken).is_ok(), "it is still there");
}

#[test]
fn one_after_the_other_until_one_ends_it() {
    let server = Server::start("tcp", &["--port", "0", "--node", "1"]);
    let mut first = server.tcp();
    first.check("?", "T05thread:01;");
    // A second client is rejected at once, and the first one stays.
    assert_eq!(server.tcp().receive(), None);
    first.check("qfThreadInfo", "m01,02");
    first.check("D", "OK");
    assert_eq!(first.receive(), None);
    let mut second = server.tcp();
    second.check("?", "T05thread:01;");
    second.send(&framed("k"));
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "has attached",
        "sent away",
        "has detached",
        "has ended the run",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn an_interrupt_ends_the_server() {
    let path = file("gdb-interrupt.sock");
    let _ = std::fs::remove_file(&path);
    // A socket was left behind.
    drop(UnixListener::bind(&path).unwrap());
    let name = path.to_str().unwrap();
    let server = Server::start("interrupt", &["--socket", name]);
    assert_eq!(server.target, name);
    let mut client = Client::new(UnixStream::connect(&path).unwrap());
    client.check("?", "T05thread:01;");
    server.interrupt();
    assert_eq!(client.receive(), None);
    let (code, said) = server.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(!path.exists(), "the socket goes with the server");
}
