//! Ticks: packets that are sent again, sends that fail, alarms.
use defs::gm::event::{ALARM, Status};
use defs::gm::map::BACK_OFF_LIMIT;
use defs::gm::port::PORT_COUNT;

use crate::state::{
    ACTIVE_SHIFT, ATOMICS, BACK_OFF_MASK, BACK_OFF_SHIFT, Connection, F_ACTIVE, F_HELD, GETS,
    connection, port_block,
};
use crate::{Gm, Nic};

const _: () = assert!(BACK_OFF_LIMIT <= BACK_OFF_MASK);

/// Whether the tick `now` is at or behind another one. Ticks wrap around: less than half of all numbers lies between the two.
#[inline(always)]
pub(crate) const fn is_reached(tick: u32, now: u32) -> bool {
    now.wrapping_sub(tick) < 1 << 31
}

impl<N: Nic> Gm<N> {
    /// A tick: looks at all that waits.
    #[inline(never)]
    pub(crate) fn on_tick(&mut self) {
        let now = self.now().wrapping_add(1);
        self.set_now(now);
        // While posts of programs follow each other without a pause, nothing else looks for a packet of the mapper.
        if self.outbox() != 0 {
            self.take_out();
        }
        if N::ACK_TICK == 0 && N::ROLE.receives() {
            self.send_delayed_acks();
        }
        if N::LENDS {
            self.look_at_acked(now);
        } else if self.acked_count() != 0 {
            self.take_acked();
        }
        if !N::LENDS && self.slow_count() != 0 {
            self.send_slow_acks(now);
        }
        self.look_at_connections(now);
        if N::LENDS {
            self.nic.yield_lock();
        }
        if self.alarms() != 0 {
            self.look_at_alarms(now);
        }
        if self.nic.load(GETS) != 0 {
            self.expire_gets(now);
        }
        if self.nic.load(ATOMICS) != 0 {
            self.ask_again(now);
        }
        if self.active_ports() != 0 {
            self.look_at_collectives(now);
        }
        let waits = self.first_active()
            | self.alarms()
            | self.nic.load(GETS)
            | self.nic.load(ATOMICS)
            | self.active_ports()
            | if N::LENDS { 0 } else { self.slow_count() };
        if waits == 0 {
            self.set_timer_runs(0);
        } else {
            self.nic.set_timer();
        }
    }

    /// Looks at the deadlines of all active connections; unlinks those without unacknowledged packets.
    fn look_at_connections(&mut self, now: u32) {
        let mut before = Connection::NONE;
        let mut number = self.first_active();
        while number != 0 {
            let at = connection::<N>(number - 1);
            let flags = at.flags(self);
            let next = flags >> ACTIVE_SHIFT;
            if at.first(self).is_none() {
                at.set_flags(self, flags & 0xFFFF & !F_ACTIVE);
                self.link_active(before, next);
            } else {
                let deadline = at.deadline(self);
                if is_reached(deadline, now) {
                    self.expire(at, now);
                }
                before = at;
            }
            number = next;
        }
    }

    /// The active connection behind `before` (0: the first one) is `next`.
    fn link_active(&mut self, before: Connection, next: u32) {
        if before.is_none() {
            self.set_first_active(next);
        } else {
            let flags = before.flags(self) & 0xFFFF;
            before.set_flags(self, flags | next << ACTIVE_SHIFT);
        }
    }

    /// The deadline of a connection has passed.
    #[cold]
    #[inline(never)]
    fn expire(&mut self, connection: Connection, now: u32) {
        let flags = connection.flags(self);
        let held = flags & F_HELD != 0;
        let fails_at = connection.fails_at(self);
        if is_reached(fails_at, now) {
            let next = now.wrapping_add(self.fatal_ticks());
            connection.set_fails_at(self, next);
            if !held {
                return self.give_up(connection);
            }
            // The node answers: only its receive token is missing.
            let first = connection.first(self);
            self.fail(connection, first, Status::TimedOut, false);
        }
        let back_off = flags >> BACK_OFF_SHIFT & BACK_OFF_MASK;
        if !held && back_off < BACK_OFF_LIMIT {
            let flags = connection.flags(self);
            connection.set_flags(self, flags + (1 << BACK_OFF_SHIFT));
        }
        self.go_back(connection);
    }

    /// Sends the events of alarms that are due.
    fn look_at_alarms(&mut self, now: u32) {
        let alarms = self.alarms();
        for number in 0..PORT_COUNT {
            let port = port_block(number);
            let at = port.alarm(self);
            if alarms >> number & 1 != 0 && is_reached(at, now) {
                let left = self.alarms() & !(1 << number);
                self.set_alarms(left);
                self.notice(port, ALARM, 0, 0);
            }
        }
    }
}
