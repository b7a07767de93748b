//! Typed values from the entries of a profile.

use std::collections::BTreeMap;

use super::{Entry, ProfileError};
use crate::costs::{CopyCosts, DsmCosts, HostCosts, KernelCosts, TrapCosts};
use emulator_base::time::SimTime;

/// Longest duration that an entry may have.
const LONGEST_NS: f64 = 1e9;

/// Reads the entries of a profile, checks their units and ranges, and notes which were read.
#[derive(Debug)]
pub struct Reader<'a> {
    profile: &'a str,
    entries: &'a BTreeMap<String, Entry>,
    read: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(profile: &'a str, entries: &'a BTreeMap<String, Entry>) -> Self {
        Self {
            profile,
            entries,
            read: Vec::new(),
        }
    }

    /// The first entry that was not read.
    pub(super) fn left(&self) -> Option<&'a str> {
        let mut names = self.entries.keys().map(String::as_str);
        names.find(|name| !self.read.contains(name))
    }

    /// A number in this unit and range.
    ///
    /// # Errors
    /// If it is missing, or has another unit or range. So do all methods.
    pub fn number(
        &mut self,
        name: &'static str,
        unit: &str,
        least: f64,
        most: f64,
    ) -> Result<f64, ProfileError> {
        self.read.push(name);
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| ProfileError::Missing {
                profile: self.profile.into(),
                entry: name,
            })?;
        let refuse = |reason: String| ProfileError::Value {
            profile: self.profile.into(),
            entry: name.into(),
            value: entry.value,
            unit: entry.unit.clone(),
            reason,
        };
        if entry.unit != unit {
            return Err(refuse(format!("its unit is {unit}")));
        }
        if !(least..=most).contains(&entry.value) {
            return Err(refuse(format!("it must lie between {least} and {most}")));
        }
        Ok(entry.value)
    }

    /// A whole number.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn count(
        &mut self,
        name: &'static str,
        unit: &str,
        least: u32,
    ) -> Result<u32, ProfileError> {
        self.small_count(name, unit, least, 1_000_000)
    }

    /// A whole number with a limit.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn small_count(
        &mut self,
        name: &'static str,
        unit: &str,
        least: u32,
        most: u32,
    ) -> Result<u32, ProfileError> {
        let value = self.number(name, unit, f64::from(least), f64::from(most))?;
        if value.fract() != 0.0 {
            return Err(ProfileError::Value {
                profile: self.profile.into(),
                entry: name.into(),
                value,
                unit: unit.into(),
                reason: "it must be a whole number".into(),
            });
        }
        Ok(value as u32)
    }

    /// A power of two.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn power_of_two(
        &mut self,
        name: &'static str,
        unit: &str,
        least: u32,
        most: u32,
    ) -> Result<u32, ProfileError> {
        let value = self.small_count(name, unit, least, most)?;
        if value.is_power_of_two() {
            return Ok(value);
        }
        Err(ProfileError::Value {
            profile: self.profile.into(),
            entry: name.into(),
            value: value.into(),
            unit: unit.into(),
            reason: "it must be a power of two".into(),
        })
    }

    /// A frequency or a rate.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn rate(&mut self, name: &'static str, unit: &str) -> Result<u64, ProfileError> {
        Ok(self.number(name, unit, 1e3, 1e12)? as u64)
    }

    /// A span, which may be zero.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn span(&mut self, name: &'static str) -> Result<SimTime, ProfileError> {
        self.short_span(name, LONGEST_NS)
    }

    /// A span that a profile need not state: then zero.
    ///
    /// # Errors
    /// As [`number`](Self::number), but for a missing entry.
    pub fn optional_span(&mut self, name: &'static str) -> Result<SimTime, ProfileError> {
        match self.entries.contains_key(name) {
            true => self.span(name),
            false => Ok(SimTime::ZERO),
        }
    }

    /// A positive span: at least 1 ns.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn positive_span(&mut self, name: &'static str) -> Result<SimTime, ProfileError> {
        let ns = self.number(name, "ns", 1.0, LONGEST_NS)?;
        Ok(SimTime::from_ps((ns * 1e3).round() as u64))
    }

    /// A span with a limit.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn short_span(
        &mut self,
        name: &'static str,
        most_ns: f64,
    ) -> Result<SimTime, ProfileError> {
        let ns = self.number(name, "ns", 0.0, most_ns)?;
        Ok(SimTime::from_ps((ns * 1e3).round() as u64))
    }

    /// The costs of the host.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn host(&mut self) -> Result<HostCosts, ProfileError> {
        Ok(HostCosts {
            pci_clock_hz: self.rate("pci.clock", "Hz")?,
            pio_read: self.span("pci.pio_read")?,
            pio_read_request: self.span("pci.pio_read_request")?,
            pio_read_bus_clocks: self.count("pci.pio_read_bus", "PCI clocks", 1)?,
            pio_read_return: self.span("pci.pio_read_return")?,
            pio_write: self.span("pci.pio_write")?,
            pio_write_setup_clocks: self.count("pci.pio_write_setup", "PCI clocks", 1)?,
            translate: self.span("host.translate")?,
            translate_page: self.span("host.translate_page")?,
            cpus: self.count("host.cpus", "count", 1)?,
            interrupt: self.span("host.interrupt")?,
            interrupt_work: self.span("host.interrupt_work")?,
            wake_up: self.span("host.wake_up")?,
            context_switch: self.span("host.context_switch")?,
            time_slice: self.positive_span("host.time_slice")?,
            system_call: self.span("host.system_call")?,
            signal: self.span("host.signal")?,
            signal_return: self.span("host.signal_return")?,
            trap: TrapCosts {
                entry: self.optional_span("host.fast_trap")?,
                exit: self.optional_span("host.fast_trap_return")?,
                operand: self.optional_span("host.operand")?,
            },
            memory_poll: self.positive_span("host.memory_poll")?,
            memory_miss: self.span("host.memory_miss")?,
            post: self.span("host.post")?,
            copy: CopyCosts {
                start: self.optional_span("host.copy")?,
                byte: self.optional_span("host.copy_byte")?,
            },
            mpi_call: self.optional_span("host.mpi_call")?,
            dsm: DsmCosts {
                post: self.optional_span("host.dsm_post")?,
                post_byte: self.optional_span("host.dsm_post_byte")?,
                immediate: self.optional_span("host.dsm_immediate")?,
                receive: self.optional_span("host.dsm_receive")?,
                atomic: self.optional_span("host.dsm_atomic")?,
                get_byte: self.optional_span("host.dsm_get_byte")?,
            },
            kernel: KernelCosts {
                interrupt: self.optional_span("host.kernel_interrupt")?,
                send: self.optional_span("host.kernel_send")?,
                receive: self.optional_span("host.kernel_receive")?,
                copy_byte: self.optional_span("host.kernel_copy_byte")?,
                sum_byte: self.optional_span("host.kernel_sum_byte")?,
            },
        })
    }
}
