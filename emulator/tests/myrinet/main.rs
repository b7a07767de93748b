//! Myrinet: timing, STOP and GO, crossbars, faults, routes, and that no packet gets lost unseen.

mod conservation;
mod faults;
mod flow;
mod nic;
mod routes;
mod timing;
