//! The form of firmware files of Linux: without symbols.

use emulator::image::foreign;
use host_lib::firmware::linux::{FormError, HEADER_BYTES, LinuxFirmware};

use crate::boards::OtherForm;

/// Reads a file in this form; `None` if it has no header that begins with a version.
pub(super) fn read(file: &[u8], sram_bytes: u32) -> Option<Result<OtherForm, String>> {
    // A file of a known other form may begin like a version too.
    if foreign::form(file).is_some() {
        return None;
    }
    match LinuxFirmware::parse(file, sram_bytes) {
        Ok(read) => Some(Ok(OtherForm {
            description: format!("Linux form, version {}", read.version),
            firmware: read.firmware,
        })),
        Err(FormError::NotThisForm { .. }) => None,
        Err(FormError::TooShort { length_bytes }) if length_bytes < HEADER_BYTES => None,
        Err(error) => Some(Err(format!("as a firmware in the Linux form: {error}"))),
    }
}
