"""Executes MIPS programs with Unicorn and tells every state that they pass through.

Input, a line for each program: code address, data address, code, data, registers 1 to 31, all in
hexadecimal. Output: a line for each state (program counter and registers 1 to 31) before an
instruction, then "end", how the program ended, and its data.
"""

import struct
import sys

import unicorn
from unicorn import mips_const as mips

MEMORY_BYTES = 0x10000
MOST_STATES = 2000
BREAKPOINT = 18  # QEMU's number of the exception that a break instruction raises
REGISTERS = [mips.UC_MIPS_REG_0 + index for index in range(1, 32)]


class Runner:
    def __init__(self):
        mode = unicorn.UC_MODE_MIPS32 | unicorn.UC_MODE_BIG_ENDIAN
        self.machine = unicorn.Uc(unicorn.UC_ARCH_MIPS, mode)
        self.machine.mem_map(0, MEMORY_BYTES)
        self.machine.hook_add(unicorn.UC_HOOK_CODE, self.before_instruction)
        self.machine.hook_add(unicorn.UC_HOOK_INTR, self.exception)

    def before_instruction(self, machine, address, _size, _data):
        values = [value & 0xFFFFFFFF for value in machine.reg_read_batch(REGISTERS)]
        self.states.append(struct.pack(">32I", address, *values).hex())
        if len(self.states) > MOST_STATES:
            self.stop("too many states")

    def exception(self, _machine, number, _data):
        self.stop("break" if number == BREAKPOINT else f"exception {number}")

    def stop(self, how):
        self.end = how
        self.machine.emu_stop()

    def run(self, code_at, data_at, code, data, registers):
        self.states = []
        self.end = "nothing"
        self.machine.mem_write(code_at, code)
        self.machine.mem_write(data_at, data)
        self.machine.ctl_remove_cache(code_at, code_at + len(code))
        for register, value in zip(REGISTERS, struct.unpack(">31I", registers)):
            self.machine.reg_write(register, value)
        try:
            self.machine.emu_start(code_at, MEMORY_BYTES)
        except unicorn.UcError as error:
            self.end = f"error: {error}"
        return bytes(self.machine.mem_read(data_at, len(data)))


def main():
    print(f"Unicorn {unicorn.__version__}", flush=True)
    runner = Runner()
    for line in sys.stdin:
        code_at, data_at, code, data, registers = line.split()
        data = runner.run(
            int(code_at, 16), int(data_at, 16), *map(bytes.fromhex, (code, data, registers))
        )
        sys.stdout.write("\n".join(runner.states) + f"\nend {runner.end}\n{data.hex()}\n")
        sys.stdout.flush()


main()
