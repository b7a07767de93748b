//! EMP messages between two emulated hosts: posts, waits, a wait for any of several transfers, a cancel.
//!
//! `make firmware && cargo run --release -p lanigon-worlds --example emp_messages`

use anyhow::{Context, anyhow};
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::emp::{AnyHandle, Buffer, Cancellation, Emp, Source, Tag};
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::images;
use lanigon_worlds::nodes;
use lanigon_worlds::profile::built_in;

/// Tags of the messages.
const QUESTION: u16 = 1;
const ANSWER: u16 = 2;
const NEVER_SENT: u16 = 3;

/// Memory for a message.
fn buffer(emp: &mut Emp, length: u32) -> anyhow::Result<Buffer> {
    let address = emp.system_mut().allocate(u64::from(length));
    let address = address.context("no more host memory")?;
    Ok(Buffer { address, length })
}

fn write(emp: &mut Emp, bytes: &[u8]) -> anyhow::Result<Buffer> {
    let buffer = buffer(emp, bytes.len() as u32)?;
    let written = emp.system_mut().write_memory(buffer.address, bytes);
    written.map_err(|at| anyhow!("{at:?} is not mapped"))?;
    Ok(buffer)
}

fn read(emp: &Emp, buffer: Buffer, length: u32) -> anyhow::Result<String> {
    let mut bytes = vec![0; length as usize];
    let read = emp.system().read_memory(buffer.address, &mut bytes);
    read.map_err(|at| anyhow!("{at:?} is not mapped"))?;
    Ok(String::from_utf8(bytes)?)
}

/// Node 0: asks, and waits for the answer. Its receive is posted before the question leaves: a message
/// without a posted receive is dropped, and retransmitted after a timeout.
async fn ask(mut emp: Emp) -> anyhow::Result<String> {
    let space = buffer(&mut emp, 100)?;
    let receive = emp.post_receive(Source::Node(1), Tag::Value(ANSWER), space);
    let answer = receive.await?;
    let question = write(&mut emp, b"How long is a page?")?;
    let sent = emp.post_transmit(1, QUESTION, question).await?;
    emp.wait(sent).await?;
    let done = emp.wait(answer).await?;
    read(&emp, space, done.length)
}

/// Node 1: waits for whichever message comes, answers it, and takes the other receive back.
async fn answer(mut emp: Emp) -> anyhow::Result<String> {
    let mut spaces = Vec::new();
    let mut handles: Vec<AnyHandle> = Vec::new();
    for tag in [NEVER_SENT, QUESTION] {
        let space = buffer(&mut emp, 100)?;
        let receive = emp.post_receive(Source::Any, Tag::Value(tag), space);
        handles.push(receive.await?.into());
        spaces.push(space);
    }
    let (index, result) = emp.wait_any(&mut handles).await.context("two are posted")?;
    let asked = result?;
    let question = read(&emp, spaces[index], asked.length)?;

    let reply = write(&mut emp, b"4096 bytes")?;
    let sent = emp.post_transmit(asked.node, ANSWER, reply).await?;
    emp.wait(sent).await?;

    for unused in handles {
        anyhow::ensure!(emp.cancel(unused).await == Cancellation::Cancelled);
    }
    Ok(question)
}

/// Builds two nodes, runs both programs in simulated time, and prints what they heard.
pub fn main() -> anyhow::Result<()> {
    let image = images::own_image("emp-base", nodes::EMP_SRAM_BYTES)?;
    let profile = built_in("tigon2-88mhz")?;
    let mut pair = EmpPairs::one(&image, &profile, &[])?;
    let asked = pair.spawn(0, "ask", async |emp| {
        ask(emp).await.map_err(|error| format!("{error:#}"))
    });
    let answered = pair.spawn(1, "answer", async |emp| {
        answer(emp).await.map_err(|error| format!("{error:#}"))
    });
    let end = pair.world.run(&RunLimits::default());
    anyhow::ensure!(end == RunEnd::Completed, "{end:?}");
    for (node, heard) in [(1, answered), (0, asked)] {
        let heard = heard.take().context("no outcome")?;
        println!("node {node} heard: {}", heard.map_err(|e| anyhow!(e))?);
    }
    Ok(())
}
