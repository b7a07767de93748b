//! A client of gdb's protocol.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// Two nodes with ping-pong, both CPUs of each in use.
pub const PAIR: &str = "image = \"emp-so\"\n[network]\ntopology = \"pair\"
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 8\nbytes = [10, 5000]\n";

/// A connection to the server, from gdb's side.
pub struct Client {
    out: Box<dyn Write>,
    input: BufReader<Box<dyn Read>>,
    /// Texts of the server for the user.
    pub shown: String,
}

impl Client {
    pub fn new(stream: UnixStream) -> Self {
        Self::over(Box::new(stream.try_clone().unwrap()), Box::new(stream))
    }

    pub fn over_tcp(stream: TcpStream) -> Self {
        Self::over(Box::new(stream.try_clone().unwrap()), Box::new(stream))
    }

    fn over(out: Box<dyn Write>, input: Box<dyn Read>) -> Self {
        Self {
            out,
            input: BufReader::new(input),
            shown: String::new(),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        // A server that has rejected us reads no more.
        let _ = self.out.write_all(bytes);
    }

    /// Contents of the next packet; `None` after a disconnect.
    pub fn receive(&mut self) -> Option<String> {
        loop {
            let mut bytes = self.input.by_ref().bytes().map_while(Result::ok);
            bytes.find(|byte| *byte == b'$')?;
            let body: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'#').collect();
            bytes.nth(1)?;
            let body = String::from_utf8_lossy(&expand(&body)).into_owned();
            match body.strip_prefix('O') {
                Some(hex) if !hex.is_empty() && body != "OK" => self.shown += &text(hex),
                _ => return Some(body),
            }
        }
    }

    /// The next byte that is no acknowledgment; `None` after a disconnect.
    pub fn next_byte(&mut self) -> Option<u8> {
        let mut bytes = self.input.by_ref().bytes().map_while(Result::ok);
        bytes.find(|byte| *byte != b'+')
    }

    /// Sends a packet; returns the answer.
    #[track_caller]
    pub fn ask(&mut self, packet: &str) -> String {
        self.send(&framed(packet));
        self.receive().expect("an answer")
    }

    #[track_caller]
    pub fn check(&mut self, packet: &str, expected: &str) {
        assert_eq!(self.ask(packet), expected, "{packet}");
    }

    /// Executes a console command; returns its output.
    #[track_caller]
    pub fn monitor(&mut self, line: &str) -> String {
        self.shown.clear();
        let hex: String = line.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.check(&format!("qRcmd,{hex}"), "OK");
        std::mem::take(&mut self.shown)
    }

    /// Moves to a time, and reads the CPU that stopped last.
    #[track_caller]
    pub fn go_to(&mut self, time: &str) {
        self.monitor(&format!("goto {time}"));
        self.ask("g");
    }

    /// A register of the selected thread (`Hg`).
    #[track_caller]
    pub fn register(&mut self, number: usize) -> u32 {
        let hex = self.ask(&format!("p{number:x}"));
        u32::from_str_radix(&hex, 16).unwrap_or_else(|_| panic!("register {number}: {hex}"))
    }

    #[track_caller]
    pub fn pc(&mut self) -> u32 {
        self.register(37)
    }
}

/// A packet with its frame.
pub fn framed(packet: &str) -> Vec<u8> {
    let sum = packet.bytes().fold(0u8, u8::wrapping_add);
    format!("${packet}#{sum:02x}").into_bytes()
}

/// Expands run-length encoding: a byte, `*`, and the number of repetitions.
fn expand(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = body.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, out.last().copied()) {
            (b'*', Some(last)) => {
                let count = bytes.next().unwrap() - 29;
                out.extend(std::iter::repeat_n(last, count.into()));
            }
            _ => out.push(byte),
        }
    }
    out
}

/// Decodes text in hexadecimal digits.
pub fn text(hex: &str) -> String {
    let (pairs, _) = hex.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    String::from_utf8_lossy(&pairs.iter().map(byte).collect::<Vec<_>>()).into_owned()
}
