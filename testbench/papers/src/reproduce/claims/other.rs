//! Claims that this project cannot judge, with reasons.

use super::{Claim, Verdict, View};

pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "emp-016",
        taken: "",
        judge: no_number,
    },
    Claim {
        id: "emp-066",
        taken: "",
        judge: gm,
    },
    Claim {
        id: "emp-075",
        taken: "",
        judge: tcp,
    },
    Claim {
        id: "emp-180",
        taken: "",
        judge: processes,
    },
    Claim {
        id: "emp-187",
        taken: "",
        judge: mpi,
    },
    Claim {
        id: "emp-188",
        taken: "",
        judge: sockets,
    },
];

fn no_number(_: &View<'_>) -> Verdict {
    Err("the thesis announces numbers and gives none; here programs have a host's CPU to themselves".into())
}

fn gm(_: &View<'_>) -> Verdict {
    Err("not modelled: GM on Myrinet is other hardware and firmware".into())
}

fn tcp(_: &View<'_>) -> Verdict {
    Err("not modelled: there is no emulated operating system to run TCP in".into())
}

fn processes(_: &View<'_>) -> Verdict {
    Err("not modelled: there is no emulated scheduler that could switch between processes".into())
}

fn mpi(_: &View<'_>) -> Verdict {
    Err("not modelled: neither MPI over EMP nor GM is part of this project".into())
}

fn sockets(_: &View<'_>) -> Verdict {
    Err("not modelled: neither sockets over EMP nor TCP is part of this project".into())
}
