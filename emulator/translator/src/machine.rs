//! Machine code: made by cranelift, called, released.

use std::cell::Cell;

use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use crate::emit;
use crate::guest::Guest;
use crate::pair::{Declared, TurnCode};
use crate::program::{Layout, Program};
use crate::shared;
use crate::sites::{self, Site};

/// Cycles of an instruction at most, of each kind.
const MOST_CYCLES: u32 = 255;

/// Reason why there is no machine code.
#[derive(Debug, thiserror::Error)]
pub enum TranslationError {
    /// No machine code is made for this host.
    #[error("this host is not supported: {0}")]
    Host(String),
    /// The layout is none.
    #[error("the sizes of the memories do not fit")]
    Layout,
    /// An instruction takes too many cycles.
    #[error("an instruction takes more than {MOST_CYCLES} cycles")]
    Costs,
    /// Cranelift refused it.
    #[error("the code could not be translated: {0}")]
    Code(String),
}

/// Reason why translated code was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// No cycles are left.
    Time,
    /// The next instruction accesses memory that the code does not have, or that is taken.
    Access,
    /// The next instruction is not translated, or writes to code.
    Step,
}

/// What the function finds and leaves: its fields are read and written by machine code.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Moment {
    // Fields that are written one by one and read together do not stand side by side: the host would wait
    // for the writes.
    /// The cycles that are left, and the extra cycles ([`crate::budget`]).
    pub(crate) budget: i64,
    /// The tick at which no cycles are left.
    pub(crate) end: u64,
    /// The budget at the last access to shared memory.
    pub(crate) shared_at: i64,
    /// Address of the next instruction.
    pub(crate) pc: u32,
    /// Becomes 1 with a store to the core's own memory.
    pub(crate) disturbed: u32,
    /// Ticks of a cycle.
    pub(crate) ticks_per_cycle: u64,
    /// Address of the instruction after the next one.
    pub(crate) next_pc: u32,
    /// What was loaded from shared memory.
    pub(crate) loaded: u32,
    /// The bus of the shared memory is taken until this tick.
    pub(crate) bus_free_at: u64,
    /// Another one takes it at this tick. 0 leaves all accesses to shared memory to others.
    pub(crate) next_burst: u64,
    /// The host's value of the register in which the function keeps the address of this.
    pub(crate) kept: u64,
    pub(crate) registers: *mut u32,
    pub(crate) own: *const Cell<u32>,
    pub(crate) decoded: *const (),
    pub(crate) shared: *const Cell<u8>,
    pub(crate) lines: *const Cell<u8>,
    /// Becomes 1 with an access to shared memory that is left to others.
    pub(crate) refused: u32,
    // What follows is for cores that take turns: stamps ([`crate::stamp`]), and addresses.
    /// The next instruction.
    pub(crate) now: u64,
    /// From here on runs may not end in time.
    pub(crate) last: u64,
    /// The last access to shared memory.
    pub(crate) accessed: u64,
    /// Time in which the core waited for the bus.
    pub(crate) stalled: u64,
    /// The bus of the shared memory is taken until then, as the core that left the code knew it.
    pub(crate) free: u64,
    /// The other core's moment.
    pub(crate) other: *mut Self,
    /// The function at which the core waits.
    pub(crate) resume: *const u8,
    /// The moment of the core that left the code, in that of the core that entered it.
    pub(crate) left: *const Self,
    /// The core's registers.
    pub(crate) values: [u32; 32],
}

impl Moment {
    #[inline(always)]
    fn new<D>(memory: &Memory<'_, D>) -> Self {
        Self {
            budget: 0,
            end: 0,
            shared_at: NOT_ACCESSED,
            pc: 0,
            disturbed: 0,
            ticks_per_cycle: 0,
            next_pc: 0,
            loaded: 0,
            bus_free_at: 0,
            next_burst: 0,
            kept: 0,
            registers: std::ptr::null_mut(),
            own: memory.own.as_ptr(),
            decoded: memory.decoded.as_ptr().cast(),
            shared: memory.shared.as_ptr(),
            lines: memory.lines.as_ptr(),
            refused: 0,
            now: 0,
            last: 0,
            accessed: NEVER,
            stalled: 0,
            free: 0,
            other: std::ptr::null_mut(),
            resume: std::ptr::null(),
            left: std::ptr::null(),
            values: [0; 32],
        }
    }

    /// Stands at a function for cores that take turns, at that time.
    #[inline(always)]
    pub(crate) fn begin_turns(
        &mut self,
        now: u64,
        last: u64,
        function: *const u8,
        registers: &[u32; 256],
    ) {
        self.now = now;
        self.last = last;
        self.accessed = NEVER;
        self.stalled = 0;
        self.resume = function;
        self.values.copy_from_slice(&registers[..32]);
    }
}

/// The memories of a core. `D` is a place of eight bytes for a decoded instruction.
#[derive(Debug)]
pub struct Memory<'a, D> {
    /// The core's own memory, in words.
    pub own: &'a [Cell<u32>],
    /// For each word of it what was decoded, or that it is data. A store to any other word than data is left to the interpreter.
    pub decoded: &'a [D],
    /// Shared memory.
    pub shared: &'a [Cell<u8>],
    /// For each line of it whether it holds code: a store there is left to the interpreter.
    pub lines: &'a [Cell<u8>],
}

/// No budget: what stands in the moment before the first access to shared memory.
pub(crate) const NOT_ACCESSED: i64 = i64::MIN;

/// No stamp: the last access of a core that has made none in its turns.
pub(crate) const NEVER: u64 = u64::MAX;

type Function = unsafe extern "C" fn(*mut Moment) -> u32;

/// Machine code of a program.
pub struct Code {
    function: Function,
    /// Owns the memory of the function.
    module: Option<JITModule>,
    sites: Box<[Site]>,
    /// Functions for cores that take turns.
    pub(crate) turns: TurnCode,
    layout: Layout,
    /// Lines of the shared memory.
    lines: usize,
    bytes: usize,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("bytes", &self.bytes).finish()
    }
}

// SAFETY: once the module is finished its memory is only executed, and the module itself is only used to release it.
#[allow(unsafe_code, reason = "the module is not used any more")]
unsafe impl Send for Code {}
// SAFETY: as above: no method changes anything through a shared reference.
#[allow(unsafe_code, reason = "the module is not used any more")]
unsafe impl Sync for Code {}

const FLAGS: [(&str, &str); 10] = [
    ("opt_level", "none"),
    ("is_pic", "false"),
    ("use_colocated_libcalls", "false"),
    ("enable_verifier", "false"),
    ("enable_pinned_reg", "true"),
    // Calls in the caller's place need them.
    ("preserve_frame_pointers", "true"),
    ("unwind_info", "false"),
    ("enable_probestack", "false"),
    ("enable_heap_access_spectre_mitigation", "false"),
    ("enable_table_access_spectre_mitigation", "false"),
];

pub(crate) fn code_error(error: impl std::fmt::Display) -> TranslationError {
    TranslationError::Code(error.to_string())
}

/// Checks that a program can be translated.
fn check(program: &Program) -> Result<(), TranslationError> {
    let layout = program.layout;
    let powers = layout.shared_bytes.is_power_of_two() && layout.line_bytes.is_power_of_two();
    let costs = program.costs;
    let small = [
        costs.instruction,
        costs.taken_branch,
        costs.annulled_slot,
        costs.own_load,
        costs.own_store,
        costs.shared_load,
        costs.shared_store,
    ];
    // The cycles of a run are added up in 16 bits.
    if small.iter().any(|&cycles| cycles > MOST_CYCLES) {
        return Err(TranslationError::Costs);
    }
    let fits = program.instructions.len() == layout.own_words as usize
        && layout.own_words < 1 << 24
        && layout.shared_bytes <= layout.shared_limit
        && layout.line_bytes <= layout.shared_bytes;
    if !powers || !fits {
        return Err(TranslationError::Layout);
    }
    Ok(())
}

pub(crate) fn code_bytes(context: &cranelift_codegen::Context) -> usize {
    let code = context.compiled_code();
    code.map_or(0, |code| code.code_buffer().len())
}

/// The functions for accesses to shared memory, and their bytes.
fn shared_functions(
    program: &Program,
    module: &mut JITModule,
    scratch: &mut FunctionBuilderContext,
) -> Result<(Vec<FuncId>, usize), TranslationError> {
    let (mut functions, mut bytes) = (Vec::new(), 0);
    for number in 0..shared::FUNCTIONS {
        let mut context = module.make_context();
        let signature = &mut context.func.signature;
        signature.call_conv = CallConv::PreserveAll;
        let parameters = [types::I32, types::I64, types::I32];
        let stores = number % 2 == 1;
        let parameters = parameters.into_iter().take(2 + usize::from(stores));
        signature.params.extend(parameters.map(AbiParam::new));
        let id = module
            .declare_function(&format!("shared{number}"), Linkage::Local, signature)
            .map_err(code_error)?;
        let builder = FunctionBuilder::new(&mut context.func, scratch);
        shared::function(program, number, builder, module.target_config());
        module
            .define_function(id, &mut context)
            .map_err(code_error)?;
        bytes += code_bytes(&context);
        functions.push(id);
    }
    Ok((functions, bytes))
}

fn new_module() -> Result<JITModule, TranslationError> {
    let mut flags = settings::builder();
    for (name, value) in FLAGS {
        flags.set(name, value).map_err(code_error)?;
    }
    let isa = cranelift_native::builder()
        .map_err(|reason| TranslationError::Host(reason.into()))?
        .finish(settings::Flags::new(flags))
        .map_err(code_error)?;
    let builder = JITBuilder::with_isa(isa, default_libcall_names());
    Ok(JITModule::new(builder))
}

impl Code {
    /// Translates a program.
    ///
    /// # Errors
    /// If the host is not supported, or the layout is none.
    pub fn translate(program: &Program) -> Result<Self, TranslationError> {
        let layout = program.layout;
        check(program)?;
        if cfg!(target_endian = "big") || size_of::<usize>() != 8 {
            return Err(TranslationError::Host("its order or size of words".into()));
        }
        let mut module = new_module()?;
        let mut context = module.make_context();
        let pointer = AbiParam::new(types::I64);
        context.func.signature.params.push(pointer);
        let site = AbiParam::new(types::I32);
        context.func.signature.returns.push(site);
        let mut scratch = FunctionBuilderContext::new();
        let (functions, mut bytes) = shared_functions(program, &mut module, &mut scratch)?;
        let shared = functions
            .iter()
            .map(|&id| module.declare_func_in_func(id, &mut context.func))
            .collect();
        let target = module.target_config();
        let builder = FunctionBuilder::new(&mut context.func, &mut scratch);
        let mut sites = emit::function(program, builder, shared, target);
        let signature = &context.func.signature;
        let id = module
            .declare_function("enter", Linkage::Local, signature)
            .map_err(code_error)?;
        module
            .define_function(id, &mut context)
            .map_err(code_error)?;
        bytes += code_bytes(&context);
        let turns = Declared::define(program, &mut module, &mut scratch, &mut sites)?;
        bytes += turns.bytes;
        module.finalize_definitions().map_err(code_error)?;
        let address = module.get_finalized_function(id);
        // SAFETY: the module has finished a function with this signature in the host's calling convention, and `Code` keeps
        // the module as long as the function.
        #[allow(unsafe_code, reason = "an address becomes a function")]
        let function = unsafe { std::mem::transmute::<*const u8, Function>(address) };
        Ok(Self {
            function,
            turns: turns.finished(program, &module),
            module: Some(module),
            sites: sites.into(),
            layout,
            lines: (layout.shared_bytes / layout.line_bytes) as usize,
            bytes,
        })
    }

    /// Bytes of machine code.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the code is for memories of these sizes.
    #[inline(always)]
    fn fits<D>(&self, memory: &Memory<'_, D>) -> bool {
        memory.own.len() == self.layout.own_words as usize
            && memory.decoded.len() == memory.own.len()
            && memory.shared.len() == self.layout.shared_bytes as usize
            && memory.lines.len() >= self.lines
    }

    /// A core that this code is to execute. `None` if the memories have other sizes than those for which the code was translated.
    #[inline(always)]
    pub fn guest<'a, D>(&'a self, memory: Memory<'a, D>) -> Option<Guest<'a>> {
        const { assert!(size_of::<D>() == 8) };
        let moment = Moment::new(&memory);
        self.fits(&memory).then(|| Guest::new(self, moment))
    }

    /// Calls the function on a moment that a guest of this code has made; gives the site at which it left.
    #[inline(always)]
    pub(crate) fn call(&self, moment: &mut Moment, registers: &mut [u32; 256]) -> &Site {
        moment.registers = registers.as_mut_ptr();
        // SAFETY: the function accesses the moment, the first 32 registers, and the four memories at offsets that it has compared
        // with the sizes of the layout, which are those of the slices from which the moment was made: the guest borrows all of them.
        // It writes to cells and to the registers, which are borrowed mutably. It reads `decoded` as numbers, and only compares them.
        #[allow(unsafe_code, reason = "machine code")]
        let number = unsafe { (self.function)(&raw mut *moment) };
        self.site(number)
    }

    /// The site with a number that a function gave: it gives no others.
    #[inline(always)]
    pub(crate) fn site(&self, number: u32) -> &Site {
        let site = self.sites.get(number as usize);
        site.unwrap_or(&sites::ELSEWHERE_SITE)
    }

    /// Index of the word at `pc`; a high one if there is none.
    #[inline(always)]
    pub(crate) const fn index(&self, pc: u32) -> usize {
        pc.wrapping_sub(self.layout.own_base).rotate_right(2) as usize
    }

    /// Address of the word at `index`.
    pub(crate) const fn address(&self, index: usize) -> u32 {
        self.layout.own_base.wrapping_add(4 * index as u32)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the function is called only through this value, by borrowers of it, of whom there are none any more.
            #[allow(unsafe_code, reason = "releases the function's memory")]
            unsafe {
                module.free_memory();
            }
        }
    }
}
