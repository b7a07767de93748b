//! A panic stops the CPU at a `break`, whose probe tells the emulator where the panic was.

use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let (file, line) = info
        .location()
        .map_or(("", 0), |place| (place.file(), place.line()));
    crate::__probe!(
        Panic,
        "panic at {s}:{}",
        file.as_ptr() as u32,
        file.len() as u32,
        line
    );
    crate::cpu::stop()
}
