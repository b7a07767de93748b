//! Four roles, and their assignment to CPUs.
//!
//! | role | work | owns |
//! |------|------|------|
//! | sender | posted transmits, cutting frames, timeouts, applying acks | transmit records, send queue |
//! | transmitter | frames and acks to the MAC, DMA from the host | transmit buffer, MAC transmit ring, read DMA |
//! | matcher | frames from the MAC, matching | MAC receive ring, posted and active receives |
//! | deliverer | DMA to the host, completion of receives | write DMA, order of freed receive space |
//!
//! Only a role itself accesses its records and its hardware. Roles on one CPU call each other directly;
//! roles on two CPUs queue jobs ([`crate::jobs`]). The [`Scheme`] assigns roles to CPUs at build time.

use core::marker::PhantomData;

/// CPU A.
pub struct A;
/// CPU B.
pub struct B;

/// A CPU, as seen from CPU `Here`: selects the type of a role's records there.
pub trait Cpu<Here> {
    /// Whether this CPU is CPU `Here`.
    const HERE: bool;
    /// The records, or an empty seat.
    type Seat<T: Records>: Seat<T>;
}

impl Cpu<A> for A {
    const HERE: bool = true;
    type Seat<T: Records> = Taken<T>;
}
impl Cpu<B> for B {
    const HERE: bool = true;
    type Seat<T: Records> = Taken<T>;
}
impl Cpu<A> for B {
    const HERE: bool = false;
    type Seat<T: Records> = Empty<T>;
}
impl Cpu<B> for A {
    const HERE: bool = false;
    type Seat<T: Records> = Empty<T>;
}

/// Assignment of roles to CPUs. The sender is always on CPU A, which handles the host's mailboxes.
///
/// A scheme that leaves a role without a CPU, or assigns it twice, does not compile:
///
/// ```compile_fail,E0046
/// use emp::roles::{A, B, Scheme};
/// struct NobodyDelivers;
/// impl Scheme for NobodyDelivers {
///     const NAME: &'static str = "no-deliverer";
///     type Transmitter = B;
///     type Matcher = A;
/// }
/// ```
/// ```compile_fail,E0201
/// use emp::roles::{A, B, Scheme};
/// struct BothMatch;
/// impl Scheme for BothMatch {
///     const NAME: &'static str = "both-match";
///     type Transmitter = B;
///     type Matcher = A;
///     type Matcher = B;
///     type Deliverer = A;
/// }
/// ```
pub trait Scheme {
    /// Name of the scheme's image.
    const NAME: &'static str;
    /// The transmitter's CPU.
    type Transmitter: Cpu<A> + Cpu<B>;
    /// The matcher's CPU.
    type Matcher: Cpu<A> + Cpu<B>;
    /// The deliverer's CPU.
    type Deliverer: Cpu<A> + Cpu<B>;
}

macro_rules! schemes {
    ($($(#[$about:meta])* $scheme:ident $name:literal $transmitter:ident $matcher:ident $deliverer:ident;)*) => {
        $(
            $(#[$about])*
            pub struct $scheme;

            impl Scheme for $scheme {
                const NAME: &'static str = $name;
                type Transmitter = $transmitter;
                type Matcher = $matcher;
                type Deliverer = $deliverer;
            }
        )*
    };
}

schemes! {
    //                transmitter
    //                |  matcher
    //                |  |  deliverer
    /// All on one CPU.
    Base "emp-base"   A  A  A;
    /// The send path split.
    So   "emp-so"     B  A  A;
    /// The receive path split.
    Ro   "emp-ro"     A  A  B;
    /// A CPU for each direction.
    Dsr  "emp-dsr"    A  B  B;
    /// Both paths split.
    Sr   "emp-sr"     B  A  B;
}

/// The roles of one CPU, and a seat for each role's records.
pub trait Roles {
    /// The sender is on this CPU.
    const SENDER: bool;
    /// The transmitter is on this CPU.
    const TRANSMITTER: bool;
    /// The matcher is on this CPU.
    const MATCHER: bool;
    /// The deliverer is on this CPU.
    const DELIVERER: bool;
    /// All roles are on this CPU: the other CPU sleeps.
    const ALONE: bool = Self::SENDER && Self::TRANSMITTER && Self::MATCHER && Self::DELIVERER;
    /// Sender and matcher, which share the peers' state, are on two CPUs.
    const PEERS_SHARED: bool = Self::SENDER != Self::MATCHER;
    /// Records of the sender.
    type Sender<T: Records>: Seat<T>;
    /// Records of the transmitter.
    type Transmitter<T: Records>: Seat<T>;
    /// Records of the matcher.
    type Matcher<T: Records>: Seat<T>;
    /// Records of the deliverer.
    type Deliverer<T: Records>: Seat<T>;
}

/// The roles of CPU `Here` in scheme `S`.
pub struct RolesOn<Here, S>(PhantomData<(Here, S)>);

macro_rules! roles_on {
    ($cpu:ident, $sender:ident) => {
        impl<S: Scheme> Roles for RolesOn<$cpu, S> {
            const SENDER: bool = <A as Cpu<$cpu>>::HERE;
            const TRANSMITTER: bool = <S::Transmitter as Cpu<$cpu>>::HERE;
            const MATCHER: bool = <S::Matcher as Cpu<$cpu>>::HERE;
            const DELIVERER: bool = <S::Deliverer as Cpu<$cpu>>::HERE;
            type Sender<T: Records> = $sender<T>;
            type Transmitter<T: Records> = <S::Transmitter as Cpu<$cpu>>::Seat<T>;
            type Matcher<T: Records> = <S::Matcher as Cpu<$cpu>>::Seat<T>;
            type Deliverer<T: Records> = <S::Deliverer as Cpu<$cpu>>::Seat<T>;
        }
    };
}

roles_on!(A, Taken);
roles_on!(B, Empty);

macro_rules! single_roles {
    ($($(#[$about:meta])* $name:ident $sender:ident $transmitter:ident $matcher:ident $deliverer:ident;)*) => {
        $(
            $(#[$about])*
            pub struct $name;

            impl Roles for $name {
                const SENDER: bool = <$sender as Cpu<A>>::HERE;
                const TRANSMITTER: bool = <$transmitter as Cpu<A>>::HERE;
                const MATCHER: bool = <$matcher as Cpu<A>>::HERE;
                const DELIVERER: bool = <$deliverer as Cpu<A>>::HERE;
                type Sender<T: Records> = <$sender as Cpu<A>>::Seat<T>;
                type Transmitter<T: Records> = <$transmitter as Cpu<A>>::Seat<T>;
                type Matcher<T: Records> = <$matcher as Cpu<A>>::Seat<T>;
                type Deliverer<T: Records> = <$deliverer as Cpu<A>>::Seat<T>;
            }
        )*
    };
}

single_roles! {
    /// The sender by itself, for an engine that moves between the CPUs.
    OnlySender      A B B B;
    /// The transmitter by itself.
    OnlyTransmitter B A B B;
    /// The matcher by itself.
    OnlyMatcher     B B A B;
    /// The deliverer by itself.
    OnlyDeliverer   B B B A;
}

/// Records of a role.
pub trait Records {
    /// Records with all bits zero: they need no space in an image's file.
    const ZERO: Self;
}

/// Place of a role's records: filled on the role's CPU, empty on the other.
pub trait Seat<T> {
    /// The seat before the protocol starts.
    const ZERO: Self;
    /// The records. Only on the role's CPU.
    fn get(&self) -> &T;
    /// The records, mutable. Only on the role's CPU.
    fn get_mut(&mut self) -> &mut T;
}

/// A seat on the role's CPU.
pub struct Taken<T>(T);

impl<T: Records> Seat<T> for Taken<T> {
    const ZERO: Self = Self(T::ZERO);

    #[inline(always)]
    fn get(&self) -> &T {
        &self.0
    }

    #[inline(always)]
    fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A seat on the other CPU.
pub struct Empty<T>(PhantomData<T>);

impl<T: Records> Seat<T> for Empty<T> {
    const ZERO: Self = Self(PhantomData);

    fn get(&self) -> &T {
        panic!("this role's records are the other CPU's")
    }

    fn get_mut(&mut self) -> &mut T {
        panic!("this role's records are the other CPU's")
    }
}
