//! A program of message passing on four emulated hosts: a token goes around a ring and grows, then all ranks learn the sum of what they added.
//!
//! `make firmware && cargo run --release -p lanigon-worlds --example mpi_ring`

use anyhow::{Context, anyhow};
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{GmSettings, GmTransport, Mpi, MpiError, Operation, Transport};
use host_lib::window::System;
use lanigon_worlds::boards;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

/// Nodes, the port of GM, and the tag of the token.
const NODES: u16 = 4;
const PORT: u8 = 2;
const TOKEN: i32 = 1;
/// Programs begin so long after they have opened their ports, so that all are open.
const LEAD_NS: u64 = 500_000;

/// Program of each rank, the same over every transport.
async fn ring<T: Transport>(transport: T) -> Result<(Vec<u32>, u32, f64), MpiError> {
    let mut mpi = Mpi::new(transport)?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());
    let began = mpi.time();
    let mut token = Vec::new();
    if rank > 0 {
        (token, _) = mpi.receive::<u32>(&world, rank - 1, TOKEN, size).await?;
    }
    token.push(rank as u32 * 10);
    if rank + 1 < size {
        mpi.send(&world, rank + 1, TOKEN, &token).await?;
    }
    let own = [rank as u32 * 10];
    let sum = mpi.all_reduce(&world, Operation::Sum, &own).await?;
    let took_us = (mpi.time() - began) * 1e6;
    mpi.finalize().await?;
    Ok((token, sum.iter().sum(), took_us))
}

fn main() -> anyhow::Result<()> {
    let board = boards::board_type("lanai9").context("the board")?;
    let gm = board.gm.context("GM's firmware")?;
    let image = board.own_image(gm.image, gm.sram_bytes)?;
    let mut world = GmWorld::new(NODES, &image, &built_in("lanai9.1-133")?)?;
    let at = |node| Endpoint { node, port: PORT };
    let members: Vec<_> = (0..NODES).map(at).collect();
    let mut ends = Vec::new();
    for node in 0..NODES {
        let members = members.clone();
        let end = world.spawn(node.into(), "ring", move |mut gm| async move {
            let text = |error: &dyn std::fmt::Display| error.to_string();
            gm.open(PORT).await.map_err(|error| text(&error))?;
            let settings = GmSettings::default();
            let transport = GmTransport::new(gm, &members, at(node), settings).await;
            let mut transport = transport.map_err(|error| text(&error))?;
            transport.gm_mut().system_mut().compute(LEAD_NS).await;
            ring(transport).await.map_err(|error| text(&error))
        });
        ends.push(end);
    }
    match world.world.run(&RunLimits::default()) {
        RunEnd::Completed => {}
        other => return Err(anyhow!("the run ended with {other:?}")),
    }
    for (rank, end) in ends.into_iter().enumerate() {
        let result = end.take().context("a program that ended")?;
        let (token, sum, took_us) = result.map_err(|error| anyhow!(error))?;
        println!("rank {rank}: token {token:?}, sum {sum}, {took_us:.2} us");
    }
    Ok(())
}
