//! Panic handler: stops the CPU at a `break` with a probe that gives the panic's source position to the
//! emulator, and with the feature `panic-values` its message. An image can run code before: [`panic_hook!`](crate::panic_hook).

use core::panic::PanicInfo;

use defs::line::Line;

/// Most bytes of a panic's place and message.
const TEXT_BYTES: usize = 192;

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let (file, line) = info
        .location()
        .map_or(("", 0), |place| (place.file(), place.line()));
    unsafe extern "C" {
        fn __panic_hook(line: u32);
    }
    // SAFETY: `panic_hook!` defines the function, or the linker script uses the one below.
    unsafe { __panic_hook(line) };
    if cfg!(feature = "panic-values") {
        let text = Line::<TEXT_BYTES>::of(format_args!("{file}:{line}: {}", info.message()));
        // The emulator reads it, of which the compiler knows nothing.
        let text = core::hint::black_box(&text).bytes();
        crate::__probe!(
            Panic,
            "panic at {s}",
            text.as_ptr() as u32,
            text.len() as u32
        );
        crate::cpu::stop()
    }
    crate::__probe!(
        Panic,
        "panic at {s}:{}",
        file.as_ptr() as u32,
        file.len() as u32,
        line
    );
    crate::cpu::stop()
}

/// Default panic hook of an image that defines none.
#[unsafe(no_mangle)]
extern "C" fn __no_panic_hook(_: u32) {}

/// Names the function that runs before a panic stops its CPU: `panic_hook!(report);` with `fn report(line:
/// u32)`. It must not panic.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! panic_hook {
    ($hook:path) => {
        #[unsafe(export_name = "__panic_hook")]
        extern "C" fn __panic_hook(line: u32) {
            let hook: fn(u32) = $hook;
            hook(line)
        }
    };
}
