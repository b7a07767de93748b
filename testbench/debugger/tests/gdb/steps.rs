//! Steps over every kind of branch: gdb's software stepping, with a breakpoint at its computed next
//! instruction, the server's stepping, and both backwards.

use emulator::cpu::mips::asm;

use super::client::Client;
use super::support::changing;

/// Address of the program: unused memory.
/// In the start code of emp-so, which is not executed again: only there a CPU may execute what the debugger writes.
const BASE: u32 = 0x4480;
/// A word of data that nothing uses.
const CELL: u32 = 0xF_0800;

const PROGRAM: &str = "
start:  addiu $t1, $zero, 1
        addiu $t2, $zero, -1
b1:     beq $zero, $t1, bad; addiu $s0, $s0, 1
b2:     bne $zero, $t1, b3; addiu $s0, $s0, 1; break
b3:     blez $t1, bad; addiu $s0, $s0, 1
b4:     bgtz $t1, b5; addiu $s0, $s0, 1; break
b5:     bltz $t1, bad; addiu $s0, $s0, 1
b6:     bgez $zero, b7; addiu $s0, $s0, 1; break
b7:     beql $zero, $t1, bad; break
b8:     bnel $zero, $t1, b9; addiu $s0, $s0, 1; break
b9:     bltzal $t2, c1; addiu $s0, $s0, 1; break
c1:     bgezal $t2, bad; addiu $s0, $s0, 1
c2:     bal c3; addiu $s0, $s0, 1; break
c3:     bltzl $t1, bad; break
c4:     bgezl $t1, c5; addiu $s0, $s0, 1; break
c5:     j c6; addiu $s0, $s0, 1; break
c6:     jal c7; addiu $s0, $s0, 1; break
c7:     la $t3, d1
c8:     jr $t3; addiu $s0, $s0, 1; break
d1:     la $t3, d3
d2:     jalr $t3; addiu $s0, $s0, 1; break
d3:     pri $t4, $t1, $t2
d4:     la $t3, table
d5:     joff $t3, $t4; addiu $s0, $s0, 1; break
table:  break; nop
one:    j done; addiu $s0, $s0, 1; break
done:   b done; addiu $s0, $s0, 1
bad:    break
";

/// Expected path through it, without slots hidden from gdb.
const WAY: &str = "start start+4 b1 b2 b3 b4 b5 b6 b7 b8 b9 c1 c2 c3 c4 c5 c6 c7 c7+4 c8 d1 d1+4 d2 d3 d4 d4+4 d5 \
                   d5+4 one done done done";

/// Untaken branches: single steps reach the instruction behind them.
const NOT_TAKEN: [&str; 4] = ["b1", "b3", "b5", "c1"];

/// Addresses of the path.
fn way(program: &asm::Program, with_slots: bool) -> Vec<u32> {
    let mut way = Vec::new();
    for place in WAY.split_whitespace() {
        let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
        let address = program.symbols[name] + offset.parse::<u32>().unwrap();
        way.push(address);
        if with_slots && NOT_TAKEN.contains(&place) {
            way.push(address + 4);
        }
    }
    way
}

/// gdb's computed next instruction.
fn gdb_thinks(pc: u32, word: u32, registers: &[u32]) -> u32 {
    let [rs, rt] = [word >> 21, word >> 16].map(|index| registers[(index & 31) as usize]);
    let sign = rs.cast_signed();
    let offset = i32::from((word as u16).cast_signed()) << 2;
    let branch = |taken: bool| match taken {
        true => (pc + 4).wrapping_add_signed(offset),
        false => pc + 8,
    };
    match (word >> 26, word & 63, word >> 16 & 31) {
        (0, 8 | 9, _) => rs,
        (1, _, 0 | 2 | 16 | 18) => branch(sign < 0),
        (1, _, 1 | 3 | 17 | 19) => branch(sign >= 0),
        (2 | 3, ..) => (pc + 4) & 0xF000_0000 | (word & 0x03FF_FFFF) << 2,
        (4 | 20, ..) => branch(rs == rt),
        (5 | 21, ..) => branch(rs != rt),
        (6 | 22, ..) => branch(sign <= 0),
        (7 | 23, ..) => branch(sign > 0),
        _ => pc + 4,
    }
}

/// Loads the program, and sets CPU A or B to its start.
fn begin(client: &mut Client, thread: usize, program: &asm::Program) {
    // Later changes are discarded then.
    client.go_to(["20020us", "20010us"][thread - 1]);
    client.check(&format!("Hg{thread}"), "OK");
    client.check(&format!("Hc{thread}"), "OK");
    for (address, word) in program.words() {
        client.check(&format!("M{address:x},4:{word:08x}"), "OK");
    }
    client.check("P10=00000000", "OK");
    client.check(&format!("P25={BASE:08x}"), "OK");
}

/// Statements are separated by lines or semicolons.
fn assembled(source: &str) -> asm::Program {
    asm::assemble(&source.replace(';', "\n")).unwrap()
}

fn program() -> asm::Program {
    assembled(&format!(".org {BASE:#x}\n{PROGRAM}"))
}

#[test]
fn as_gdb_steps() {
    let program = program();
    changing(|client| {
        for thread in [1, 2] {
            begin(client, thread, &program);
            for (count, expected) in way(&program, false).into_iter().enumerate() {
                let pc = client.pc();
                assert_eq!(pc, expected, "thread {thread}, step {count}: {pc:#x}");
                let word = client.ask(&format!("m{pc:x},4"));
                let word = u32::from_str_radix(&word, 16).unwrap();
                let registers: Vec<u32> = (0..32).map(|index| client.register(index)).collect();
                let next = gdb_thinks(pc, word, &registers);
                client.check(&format!("Z0,{next:x},4"), "OK");
                let stop = client.ask(&format!("vCont;c:{thread}"));
                let thread = format!("T05thread:{thread:02x};");
                assert!(stop.starts_with(&thread), "step {count} at {pc:#x}: {stop}");
                client.check(&format!("z0,{next:x},4"), "OK");
            }
            assert_eq!(client.register(16), 20, "all slots were executed once");
        }
    });
}

#[test]
fn as_the_server_steps_and_back() {
    let program = program();
    changing(|client| {
        for thread in [1, 2] {
            begin(client, thread, &program);
            let way = way(&program, true);
            for expected in &way {
                let pc = client.pc();
                assert_eq!(pc, *expected, "thread {thread}: {pc:#x}");
                client.check(
                    &format!("vCont;s:{thread}"),
                    &format!("T05thread:{thread:02x};"),
                );
            }
            assert_eq!(client.register(16), 20, "all slots were executed once");
            for expected in way.iter().rev() {
                client.check("bs", &format!("T05thread:{thread:02x};"));
                let pc = client.pc();
                assert_eq!(pc, *expected, "thread {thread}, back: {pc:#x}");
            }
            assert_eq!(client.register(16), 0, "as if nothing had been");
        }
    });
}

#[test]
fn a_stop_in_a_slot_is_shown_at_the_branch() {
    let source = format!(
        ".org {BASE:#x}\nla $t0, {:#x}\nfrom: b to; sw $t0, 0($t0); break\nto: addiu $s0, $s0, 1\nend: b end; nop",
        CELL
    );
    let program = assembled(&source);
    let place = |name: &str| program.symbols[name];
    changing(|client| {
        begin(client, 1, &program);
        let cell = format!("{CELL:x},4");
        client.check(&format!("Z2,{cell}"), "OK");
        assert!(client.ask("c").contains("watch:"));
        assert_eq!(client.pc(), place("from"));
        assert_eq!(
            client.register(36),
            1 << 31,
            "cause says that it is in the slot"
        );
        client.check(&format!("m{cell}"), "00000000");
        client.check(&format!("z2,{cell}"), "OK");
        // gdb resumes from a watchpoint over the branch, of which only the slot is left.
        client.check(&format!("Z0,{:x},4", place("to")), "OK");
        client.check("c", "T05thread:01;swbreak:;");
        assert_eq!(client.pc(), place("to"));
        assert_eq!(client.register(36), 0);
        client.check(&format!("m{cell}"), "000f0800");
        client.check(&format!("z0,{:x},4", place("to")), "OK");
        // Backwards, it stops before the write, and after it until gdb has stepped.
        client.check("vCont;s:1", "T05thread:01;");
        client.check(&format!("Z2,{cell}"), "OK");
        assert!(client.ask("bc").contains("watch:"));
        client.check(&format!("m{cell}"), "000f0800");
        client.check(&format!("z2,{cell}"), "OK");
        client.check("bs", "T05thread:01;");
        client.check(&format!("m{cell}"), "00000000");
        assert_eq!(client.pc(), place("from"));
    });
}
