//! Four roles, and the CPUs that have them.
//!
//! | role | does | owns |
//! |------|------|------|
//! | sender | posted transmits, cutting frames, timeouts, what an ack means | transmit records, send queue |
//! | transmitter | frames and acks to the MAC, DMA from the host | transmit buffer, MAC transmit ring, read DMA |
//! | matcher | frames from the MAC, what is awaited of whom | MAC receive ring, posted and active receives |
//! | deliverer | DMA to the host, completion of receives | write DMA, order of freed receive space |
//!
//! A role is the only one that touches its records and its hardware. Roles call each other directly where they
//! run on one CPU, and leave each other jobs in queues where they do not ([`crate::jobs`]). Which it
//! is, is known when the firmware is built: the [`Scheme`] says which CPU has which role.

use core::marker::PhantomData;

/// CPU A.
pub struct A;
/// CPU B.
pub struct B;

/// A CPU, as seen from CPU `Here`: what stands for a role's records there.
pub trait Cpu<Here> {
    /// Whether the two are the same.
    const HERE: bool;
    /// The records, or nothing.
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

/// Which CPU has which role. The sender is always on CPU A, to which the host's mailboxes speak.
///
/// A scheme that leaves a role without a CPU, or gives it two, is no program:
///
/// ```compile_fail,E0046
/// use emp::roles::{A, B, Scheme};
/// struct NobodyDelivers;
/// impl Scheme for NobodyDelivers {
///     const NAME: &'static str = "nobody-delivers";
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

/// The roles of one CPU: which are there, and a seat for each role's records.
pub trait Roles {
    /// The sender is here.
    const SENDER: bool;
    /// The transmitter is here.
    const TRANSMITTER: bool;
    /// The matcher is here.
    const MATCHER: bool;
    /// The deliverer is here.
    const DELIVERER: bool;
    /// All are: the other CPU sleeps.
    const ALONE: bool = Self::SENDER && Self::TRANSMITTER && Self::MATCHER && Self::DELIVERER;
    /// Sender and matcher, which both know the peers, are on two CPUs.
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

/// The roles that CPU `Here` has in scheme `S`.
pub struct On<Here, S>(PhantomData<(Here, S)>);

macro_rules! roles_on {
    ($cpu:ident, $sender:ident) => {
        impl<S: Scheme> Roles for On<$cpu, S> {
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

/// Records of a role.
pub trait Records {
    /// All bits zero: costs no room in an image's file.
    const ZERO: Self;
}

/// Where a role's records are: here, or with the other CPU.
pub trait Seat<T> {
    /// The seat before the protocol starts.
    const ZERO: Self;
    /// The records. Only for a role that is here.
    fn get(&self) -> &T;
    /// The records, to be changed. Only for a role that is here.
    fn get_mut(&mut self) -> &mut T;
}

/// The role is here.
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

/// The role is on the other CPU.
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
