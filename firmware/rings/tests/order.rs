//! Random histories of a frame buffer: frames filled by a DMA or built by the CPU, completions and reports
//! to the CPU with any delay, failures.

use std::collections::VecDeque;

use cases::cases;
use proptest::prelude::*;
use rings::{Region, ReleaseOrder};

/// One action of a random history.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A frame of this many 8-byte units whose DMA releases it.
    DmaFrame(u32),
    /// A frame that the CPU builds and releases.
    CpuFrame(u32),
    /// The channel works off its oldest DMA.
    Complete,
    /// The channel stops at its oldest DMA.
    Fail,
    /// The CPU handles the oldest report.
    Report,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1u32..24).prop_map(Step::DmaFrame),
        3 => (1u32..24).prop_map(Step::CpuFrame),
        3 => Just(Step::Complete),
        1 => Just(Step::Fail),
        3 => Just(Step::Report),
    ]
}

/// Model of the hardware, with positions that never wrap beside the addresses that do.
struct Buffer {
    region: Region,
    order: ReleaseOrder,
    /// Position of the register, and of the end of all frames.
    pointer: u64,
    end: u64,
    /// Ends of queued DMAs, oldest first.
    channel: VecDeque<u64>,
    /// The channel is stopped at a failed DMA until the CPU skips it.
    stopped: bool,
    /// Finished DMAs not yet reported to the CPU: end, failed.
    reports: VecDeque<(u64, bool)>,
}

impl Buffer {
    fn new() -> Self {
        let region = Region::new(0x1_C000, 0x1_C000 + 1000 * 8);
        let (channel, reports) = (VecDeque::new(), VecDeque::new());
        let order = ReleaseOrder::new();
        Self {
            region,
            order,
            pointer: 0,
            end: 0,
            channel,
            stopped: false,
            reports,
        }
    }

    fn address(&self, position: u64) -> u32 {
        let offset = position % u64::from(self.region.bytes());
        self.region.base() + u32::try_from(offset).expect("below the buffer's size")
    }

    /// The register moves to `position`, by the CPU or a DMA.
    fn move_to(&mut self, position: u64) {
        assert!(position >= self.pointer, "the pointer went backwards");
        if let Some(&pending) = self.channel.front() {
            assert!(
                position < pending,
                "a frame was released whose DMA is under way"
            );
        }
        assert!(position <= self.end, "more was released than exists");
        self.pointer = position;
    }

    /// The CPU writes the address that the order returned.
    fn write(&mut self, address: Option<u32>) {
        if let Some(address) = address {
            let forward = self.region.distance(self.address(self.pointer), address);
            self.move_to(self.pointer + u64::from(forward));
        }
    }

    /// Reserves a frame unless the buffer is full.
    fn frame(&mut self, units: u32) -> Option<u64> {
        let end = self.end + u64::from(units) * 8;
        let room = end - self.pointer < u64::from(self.region.bytes());
        room.then(|| self.end = end).map(|()| end)
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::DmaFrame(units) => {
                if let Some(end) = self.frame(units) {
                    self.order.dma_queued();
                    self.channel.push_back(end);
                }
            }
            Step::CpuFrame(units) => {
                if let Some(end) = self.frame(units) {
                    let release = self.order.cpu_release(self.address(end));
                    self.write(release);
                }
            }
            Step::Complete if !self.stopped => {
                if let Some(end) = self.channel.pop_front() {
                    self.move_to(end);
                    self.reports.push_back((end, false));
                }
            }
            Step::Fail if !self.stopped => {
                if let Some(end) = self.channel.pop_front() {
                    self.stopped = true;
                    self.reports.push_back((end, true));
                }
            }
            Step::Complete | Step::Fail => {}
            Step::Report => self.report(),
        }
    }

    fn report(&mut self) {
        let Some((end, failed)) = self.reports.pop_front() else {
            return;
        };
        let release = if failed {
            self.stopped = false;
            self.order.dma_failed(self.address(end))
        } else {
            self.order.dma_completed()
        };
        self.write(release);
    }
}

fn check(steps: &[Step]) {
    let mut buffer = Buffer::new();
    for &step in steps {
        buffer.apply(step);
    }
    while !buffer.channel.is_empty() || !buffer.reports.is_empty() {
        buffer.apply(Step::Complete);
        buffer.apply(Step::Report);
    }
    assert!(buffer.order.is_settled());
    assert_eq!(buffer.pointer, buffer.end, "something was never released");
}

proptest! {
    #![proptest_config(cases(2000))]
    #[test]
    fn every_history_is_released_in_order(steps in prop::collection::vec(step(), 0..400)) {
        check(&steps);
    }
}

#[test]
fn a_cpu_frame_behind_a_dma_waits_for_it() {
    use Step::{Complete, CpuFrame, DmaFrame, Report};
    check(&[DmaFrame(3), CpuFrame(1), Complete, Report]);
    check(&[
        DmaFrame(3),
        CpuFrame(1),
        DmaFrame(2),
        Complete,
        Report,
        CpuFrame(1),
        Complete,
        Report,
    ]);
    check(&[
        CpuFrame(1),
        CpuFrame(1),
        DmaFrame(1),
        Complete,
        CpuFrame(2),
        Report,
    ]);
}

#[test]
fn the_place_of_a_failed_dma_is_given_up() {
    use Step::{Complete, CpuFrame, DmaFrame, Fail, Report};
    check(&[DmaFrame(3), Fail, Report]);
    check(&[DmaFrame(3), DmaFrame(3), Fail, Report, Complete, Report]);
    check(&[DmaFrame(3), CpuFrame(1), Fail, Report]);
    check(&[
        DmaFrame(3),
        DmaFrame(2),
        Complete,
        Fail,
        Report,
        CpuFrame(2),
        Report,
    ]);
}
