//! Link state machine: a fixed link is up as soon as there is a carrier; a negotiated link after an
//! exchange of configuration words (802.3z, clause 37; docs/tigon2-io.md, section 6).
//!
//! The firmware steps the machine periodically with the receiver's signals. The machine returns how to
//! drive the transmitter, and whether the link went up or down.

use defs::acenic::Link;

/// Timeout of a step of the exchange; then the exchange restarts. A partner that stays silent for this time
/// is assumed not to negotiate. Twice the 10 ms of clause 37.
const PATIENCE_US: u32 = 20_000;
/// Shortest duration of a step of the exchange, so that the partner sees it.
const HOLD_US: u32 = 10_000;

/// Configuration word (bytes swapped): full duplex.
const FULL_DUPLEX: u32 = 0x2000;
/// Configuration word: pause frames both ways.
const PAUSE: u32 = 0x8000;
/// Configuration word: acknowledges the partner's word.
const ACKNOWLEDGE: u32 = 0x0040;

/// State of the receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signals {
    /// Carrier present and synchronised.
    pub signal: bool,
    /// The partner sends configuration words.
    pub partner_config: bool,
    /// The last configuration word received.
    pub word: u32,
}

/// Orders for the link's transmitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drive {
    /// Send frames and idle; otherwise configuration words.
    pub frames: bool,
    /// The configuration word.
    pub word: u32,
}

/// A change of the link state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Up, with these settings.
    Up(Link),
    /// The link has gone down.
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkState {
    /// The link is disabled.
    Off,
    /// No carrier, or the partner still negotiates on a fixed link.
    Silent,
    /// Sending our abilities, waiting for the partner's.
    Abilities,
    /// The partner's abilities are known; waiting until it has seen ours.
    Acknowledging,
    /// Sending idle; waiting for the partner's idle.
    Settling,
    Up,
}

/// The state of the link.
#[derive(Debug, Clone)]
pub struct Negotiation {
    wishes: Link,
    state: LinkState,
    /// Time at which the state was entered.
    since: u32,
    /// The partner's abilities, once received.
    partner: Option<u32>,
    /// The word at the last step: a word is valid when it is seen twice.
    last_word: u32,
}

impl Negotiation {
    /// A disabled link.
    pub const OFF: Self = Self {
        wishes: Link::empty(),
        state: LinkState::Off,
        since: 0,
        partner: None,
        last_word: 0,
    };

    /// Restarts with these settings. Returns a change if the link was up.
    pub fn start(&mut self, wishes: Link, now: u32) -> Option<Change> {
        let was_up = self.is_up();
        *self = Self {
            wishes,
            since: now,
            ..Self::OFF
        };
        if wishes.contains(Link::ENABLE | Link::SPEED_1000) {
            self.state = LinkState::Silent;
        }
        was_up.then_some(Change::Down)
    }

    /// Whether the link is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state == LinkState::Up
    }

    /// Orders for the transmitter in the present state.
    #[must_use]
    pub fn drive(&self) -> Drive {
        let negotiates = self.wishes.contains(Link::NEGOTIATE);
        let (frames, word) = match self.state {
            LinkState::Off => (false, 0),
            LinkState::Silent => (!negotiates, 0),
            LinkState::Abilities => (false, self.abilities()),
            LinkState::Acknowledging => (false, self.abilities() | ACKNOWLEDGE),
            LinkState::Settling | LinkState::Up => (true, 0),
        };
        Drive { frames, word }
    }

    fn abilities(&self) -> u32 {
        let flow = Link::TX_FLOW_CONTROL | Link::RX_FLOW_CONTROL;
        let pause =
            self.wishes.contains(Link::NEGOTIATE_FLOW_CONTROL) && self.wishes.intersects(flow);
        FULL_DUPLEX | if pause { PAUSE } else { 0 }
    }

    /// Steps the state machine.
    pub fn step(&mut self, now: u32, signals: Signals) -> Option<Change> {
        let stable = signals.word == self.last_word;
        self.last_word = signals.word;
        if self.state == LinkState::Off {
            return None;
        }
        if !signals.signal {
            return self.begin_anew(now);
        }
        let elapsed = now.wrapping_sub(self.since);
        let word = (signals.partner_config && stable && signals.word != 0).then_some(signals.word);
        match self.state {
            LinkState::Off => {}
            LinkState::Silent if self.wishes.contains(Link::NEGOTIATE) => {
                self.enter(LinkState::Abilities, now);
            }
            LinkState::Silent if !signals.partner_config => return Some(self.go_up(now)),
            LinkState::Silent => {}
            LinkState::Abilities => {
                self.await_abilities(now, elapsed, word, signals.partner_config)
            }
            LinkState::Acknowledging => {
                let seen =
                    !signals.partner_config || word.is_some_and(|word| word & ACKNOWLEDGE != 0);
                if seen && elapsed >= HOLD_US {
                    self.enter(LinkState::Settling, now);
                } else if elapsed >= 2 * PATIENCE_US {
                    self.enter(LinkState::Silent, now);
                }
            }
            LinkState::Settling if !signals.partner_config => {
                if elapsed >= HOLD_US {
                    return Some(self.go_up(now));
                }
            }
            LinkState::Settling => {
                if elapsed >= 2 * PATIENCE_US {
                    self.enter(LinkState::Silent, now);
                }
            }
            // The partner negotiates again.
            LinkState::Up if signals.partner_config => return self.begin_anew(now),
            LinkState::Up => {}
        }
        None
    }

    fn await_abilities(&mut self, now: u32, elapsed: u32, word: Option<u32>, config: bool) {
        if let Some(word) = word {
            self.partner = Some(word & !ACKNOWLEDGE);
            self.enter(LinkState::Acknowledging, now);
        } else if !config && elapsed >= PATIENCE_US {
            // The partner sends idle: it has a fixed link.
            self.enter(LinkState::Settling, now);
        }
    }

    fn enter(&mut self, state: LinkState, now: u32) {
        self.state = state;
        self.since = now;
    }

    fn begin_anew(&mut self, now: u32) -> Option<Change> {
        let was_up = self.is_up();
        self.partner = None;
        self.enter(LinkState::Silent, now);
        was_up.then_some(Change::Down)
    }

    fn go_up(&mut self, now: u32) -> Change {
        self.enter(LinkState::Up, now);
        let mut link = Link::UP | Link::ENABLE | Link::FULL_DUPLEX | Link::SPEED_1000;
        if let Some(partner) = self.partner {
            link |= Link::NEGOTIATE;
            if partner & self.abilities() & PAUSE != 0 {
                link |= Link::TX_FLOW_CONTROL | Link::RX_FLOW_CONTROL;
            }
        }
        Change::Up(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXED: u32 = 0x400C_0000;
    const NEGOTIATED: u32 = 0x70AF_0000;
    const TICK_US: u32 = 1000;

    /// Behaviour of the link partner.
    enum Partner {
        /// Always sends idle.
        Idle,
        /// The minimum that satisfies the vendor's firmware (docs/tigon2-io.md, section 6).
        Minimal(u32),
        /// Sends configuration words and never answers.
        Deaf,
    }

    impl Partner {
        fn answer(&self, drive: Drive) -> Signals {
            let word = match self {
                Self::Idle => None,
                Self::Minimal(_) if drive.frames => None,
                Self::Minimal(ability) if drive.word != 0 => Some(ability | ACKNOWLEDGE),
                Self::Minimal(ability) => Some(*ability),
                Self::Deaf => Some(FULL_DUPLEX),
            };
            Signals {
                signal: true,
                partner_config: word.is_some(),
                word: word.unwrap_or(0),
            }
        }
    }

    /// Steps for 200 ms; returns the changes with their times.
    fn run(link: &mut Negotiation, partner: &Partner, from: u32) -> std::vec::Vec<(u32, Change)> {
        let mut changes = std::vec::Vec::new();
        for now in (from..from + 200_000).step_by(TICK_US as usize) {
            let signals = partner.answer(link.drive());
            changes.extend(link.step(now, signals).map(|change| (now, change)));
        }
        changes
    }

    fn check(wishes: u32, partner: &Partner, state: Option<u32>, within: u32) {
        let mut link = Negotiation::OFF;
        assert_eq!(link.start(Link::from_bits_retain(wishes), 0), None);
        let changes = run(&mut link, partner, 0);
        match state {
            None => assert_eq!(changes, []),
            Some(state) => {
                let [(time, Change::Up(up))] = changes[..] else {
                    panic!("{changes:?}")
                };
                assert_eq!(up.bits(), state);
                assert!(time <= within, "up after {time} us");
                assert!(link.is_up() && link.drive().frames);
            }
        }
    }

    #[test]
    fn links_come_up_as_the_driver_expects() {
        check(FIXED, &Partner::Idle, Some(0xC00C_0000), 0);
        check(FIXED, &Partner::Minimal(0xA001), Some(0xC00C_0000), 0);
        check(FIXED, &Partner::Deaf, None, 0);
        check(
            NEGOTIATED,
            &Partner::Minimal(0xA001),
            Some(0xE0AC_0000),
            40_000,
        );
        check(
            NEGOTIATED,
            &Partner::Minimal(0x2000),
            Some(0xE00C_0000),
            40_000,
        );
        check(NEGOTIATED, &Partner::Idle, Some(0xC00C_0000), 60_000);
        check(NEGOTIATED, &Partner::Deaf, None, 0);
        check(0x300C_0000, &Partner::Idle, None, 0);
        check(0x400B_0000, &Partner::Idle, None, 0);
    }

    #[test]
    fn two_firmwares_agree() {
        let mut ends = [Negotiation::OFF, Negotiation::OFF];
        ends[0].start(Link::from_bits_retain(NEGOTIATED), 0);
        let mut up = [None; 2];
        for now in (0..300_000).step_by(TICK_US as usize) {
            if now == 7_000 {
                ends[1].start(Link::from_bits_retain(NEGOTIATED), now);
            }
            let drives = [ends[0].drive(), ends[1].drive()];
            for end in 0..2 {
                let drive = drives[1 - end];
                let signals = Signals {
                    signal: true,
                    partner_config: !drive.frames,
                    word: drive.word,
                };
                match ends[end].step(now, signals) {
                    Some(Change::Up(link)) => up[end] = Some(link.bits()),
                    Some(Change::Down) => up[end] = None,
                    None => {}
                }
            }
        }
        assert_eq!(up, [Some(0xE0AC_0000); 2]);
    }

    #[test]
    fn a_lost_signal_is_noticed_and_made_good() {
        let mut link = Negotiation::OFF;
        link.start(Link::from_bits_retain(NEGOTIATED), 0);
        let partner = Partner::Minimal(0xA001);
        assert_eq!(run(&mut link, &partner, 0).len(), 1);
        assert_eq!(link.step(300_000, Signals::default()), Some(Change::Down));
        assert_eq!(link.step(301_000, Signals::default()), None);
        let [(_, Change::Up(_))] = run(&mut link, &partner, 400_000)[..] else {
            panic!("not up again")
        };
        // The partner restarts.
        let signals = partner.answer(Drive::default());
        assert_eq!(link.step(700_000, signals), Some(Change::Down));
        assert_eq!(run(&mut link, &partner, 701_000).len(), 1);
        assert_eq!(link.start(Link::empty(), 1_000_000), Some(Change::Down));
        assert!(run(&mut link, &partner, 1_001_000).is_empty());
    }

    extern crate std;
}
