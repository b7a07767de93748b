//! Control programs of real adapters as image files.

use crate::boards::OtherForm;
use crate::myrinet::program::{ControlProgram, is_control_program};

/// Reads a control program; `None` if the file is not known to be one.
pub(super) fn read(file: &[u8], sram_bytes: u32) -> Option<Result<OtherForm, String>> {
    is_control_program(file).then(|| {
        let program = ControlProgram::parse(file, None, None, sram_bytes);
        let program = program.map_err(|error| error.to_string())?;
        Ok(OtherForm {
            description: program.form(),
            firmware: program.firmware,
        })
    })
}
