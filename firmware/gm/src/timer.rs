//! Ticks: packets that are sent again, sends that fail.

use defs::gm::event::Status;
use defs::gm::map::{Counter, FATAL_TICKS, ROUTE_VALID};
use defs::gm::mapping::OUT;

use crate::state::{
    ACTIVE, C_ACTIVE_NEXT, C_CURSOR, C_DEADLINE, C_FATAL, C_FIRST, C_FLAGS, C_NEXT, C_NUMBERS,
    C_ROUTE, F_ACTIVE, F_HELD, NOW,
};
use crate::{Gm, Nic};

impl<N: Nic> Gm<N> {
    /// A tick: looks at the connections with unacknowledged packets.
    #[inline(never)]
    pub(crate) fn on_tick(&mut self) {
        let now = self.nic.load(NOW).wrapping_add(1);
        self.nic.store(NOW, now);
        // While posts of programs follow each other without a pause, nothing else looks for a packet of the mapper.
        if self.nic.load(OUT) != 0 {
            self.take_out();
        }
        // The link that leads to `connection`.
        let mut link = ACTIVE;
        let mut connection = self.nic.load(ACTIVE);
        while connection != 0 {
            let next = self.nic.load(connection + C_ACTIVE_NEXT);
            if self.nic.load(connection + C_FIRST) == 0 {
                self.nic.store(link, next);
                let flags = self.nic.load(connection + C_FLAGS);
                self.nic.store(connection + C_FLAGS, flags & !F_ACTIVE);
            } else {
                let deadline = self.nic.load(connection + C_DEADLINE);
                if now.wrapping_sub(deadline) < 1 << 31 {
                    self.expire(connection, now);
                }
                link = connection + C_ACTIVE_NEXT;
            }
            connection = next;
        }
        if self.nic.load(ACTIVE) != 0 {
            self.nic.set_timer();
        }
    }

    /// The deadline of a connection has passed.
    #[cold]
    #[inline(never)]
    fn expire(&mut self, connection: u32, now: u32) {
        let number = self.nic.load(connection + C_NUMBERS) & 0xFFFF;
        let held = self.nic.load(connection + C_FLAGS) & F_HELD != 0;
        let fatal = self.nic.load(connection + C_FATAL);
        if now.wrapping_sub(fatal) < 1 << 31 {
            let next = now.wrapping_add(self.nic.load(FATAL_TICKS));
            self.nic.store(connection + C_FATAL, next);
            if !held {
                return self.give_up(connection);
            }
            // The node answers: only its receive token is missing.
            self.fail_first(connection, Status::TimedOut);
        }
        self.go_back(connection, number);
    }

    /// The node does not answer: all sends to it fail, and the next one begins a new session.
    fn give_up(&mut self, connection: u32) {
        let route = self.nic.load(connection + C_ROUTE);
        let status = match self.nic.load(route) & ROUTE_VALID {
            0 => Status::NodeUnreachable,
            _ => Status::TimedOut,
        };
        while self.nic.load(connection + C_FIRST) != 0 {
            self.count(Counter::FailedSends);
            self.free_first(connection, status);
        }
        self.nic.store(connection + C_CURSOR, 0);
        let session = self.nic.load(connection + C_NEXT) & 0xFFFF_0000;
        self.nic
            .store(connection + C_NEXT, session.wrapping_add(1 << 16));
        self.count(Counter::Sessions);
    }
}
