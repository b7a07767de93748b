//! The event loop of a CPU: the chip's, or any of many.

/// An event loop, in the scratchpad of a CPU, or of each that executes it. `$timer` is the work for a timer's event.
macro_rules! event_loop {
    ($module:ident, $cpu:ident, $scratchpad:ident, $timer:expr) => {
        mod $module {
            use crate::roles::{self, Deliverer, Matcher, Sender, Transmitter};
            use tigon2_hal::cpu::$cpu;
            use tigon2_hal::{dispatch, event, $scratchpad};

            dispatch! {
                fn start(cpu: $cpu, state: () = ());
                TIMER => |()| $timer,
                MAILBOX => |()| roles::serve_mailboxes::<$cpu>(sender, matcher),
                READ_DMA_ATTENTION => |()| _ = transmitter(roles::on_read_attention),
                WRITE_DMA_ATTENTION => |()| _ = deliverer(roles::on_write_attention),
                READ_DMA_DONE => |()| _ = transmitter(on_read_done),
                WRITE_DMA_DONE => |()| _ = deliverer(on_write_done),
                SOFT_CLOSED => |()| _ = matcher(roles::on_closed),
                SOFT_PAGES => |()| _ = deliverer(roles::on_pages),
                SOFT_REPORTS => |()| _ = sender(roles::on_reports),
                SOFT_ACKS => |()| _ = transmitter(roles::on_acks),
                SOFT_ARRIVALS => |()| _ = deliverer(on_arrivals),
                RX_COMPLETE => |()| _ = matcher(roles::on_receive),
                SOFT_RESUME => |()| _ = deliverer(roles::on_send),
                SOFT_SEND => |()| _ = transmitter(roles::on_send),
                SOFT_FRAMES => |()| _ = transmitter(on_frames),
                SOFT_CUT => |()| _ = sender(roles::on_send),
                SOFT_AGAIN => |()| roles::unmask(),
            }

            $scratchpad! {
                fn sender(work: fn(&mut Sender)) -> bool {
                    roles::serve::<$cpu, _, _>(&roles::SENDER, work)
                }

                fn transmitter(work: fn(&mut Transmitter)) -> bool {
                    roles::serve::<$cpu, _, _>(&roles::TRANSMITTER, work)
                }

                fn matcher(work: fn(&mut Matcher)) -> bool {
                    roles::serve::<$cpu, _, _>(&roles::MATCHER, work)
                }

                fn deliverer(work: fn(&mut Deliverer)) -> bool {
                    roles::serve::<$cpu, _, _>(&roles::DELIVERER, work)
                }

                // What moves the data of each frame is in both scratchpads, which have no room for more; the rest is in SRAM, once.

                fn on_frames(engine: &mut Transmitter) {
                    engine.on_frames();
                }

                fn on_arrivals(engine: &mut Deliverer) {
                    engine.on_arrivals();
                }

                fn on_write_done(engine: &mut Deliverer) {
                    engine.on_write_done();
                }

                fn on_read_done(engine: &mut Transmitter) {
                    engine.on_read_done();
                }
            }

            /// Handles events for ever, at first those in `mask`.
            pub fn run(cpu: $cpu, mask: u32) -> ! {
                event::set_mask(mask);
                start(cpu, |()| {})
            }
        }
    };
}
