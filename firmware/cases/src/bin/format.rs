//! Text by `core::fmt`.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::fmt::Write;

use cases::{black_box, case, log, rest};

case!(main);

struct Text {
    bytes: [u8; 48],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let end = self.length + text.len();
        let place = self
            .bytes
            .get_mut(self.length..end)
            .ok_or(core::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

fn main() -> ! {
    let mut text = Text {
        bytes: [0; 48],
        length: 0,
    };
    let written = write!(
        text,
        "a={} b={:#x} c={:?}",
        black_box(42u32),
        black_box(255u32),
        black_box(Some(3u8))
    );
    log!("written {}", u32::from(written.is_ok()));
    for word in text.bytes.chunks_exact(4).take(6) {
        log!(
            "text {x}",
            u32::from_be_bytes([word[0], word[1], word[2], word[3]])
        );
    }
    log!("length {}", text.length as u32);
    rest()
}
