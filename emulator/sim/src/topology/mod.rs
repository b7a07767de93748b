//! Building networks in a world: the only code of the simulation that names media.

mod ethernet;
mod myrinet;
