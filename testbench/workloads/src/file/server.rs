//! The node with the file. With `on = "nic"` its process sleeps until the clients have ended.

use std::collections::VecDeque;

use host_lib::gm::Gm;
use host_lib::gm::atomic::Wait;
use host_lib::window::{System, VirtualAddress};

use super::content::tag_of;
use super::mailbox::{Kind, Mailbox, Message};
use super::records::{FileRecords, Sighting};
use super::{FilePlan, RegionPlace};
use crate::collective::ExecutedOn;
use lanigon_worlds::programs::deliveries::Deliveries;

/// Serves requests until all clients have ended, and looks at the file then.
pub(super) async fn run(
    mut gm: Gm,
    plan: &FilePlan,
    mut mailbox: Mailbox,
    file: VirtualAddress,
    deliveries: &Deliveries,
) -> Result<(), String> {
    let settings = &plan.settings;
    let wait = match settings.on {
        ExecutedOn::Host => settings.wait,
        ExecutedOn::Nic => Wait::Block,
    };
    let mut left = plan.nodes.len() - 1;
    let mut asked = VecDeque::new();
    let (mut served, mut served_ps) = (0, 0);
    let mut begin_ps = gm.system().now_ps();
    while left > 0 {
        let waited_ps = mailbox.waited_ps;
        match mailbox.event(&mut gm, wait).await? {
            Some((_, request)) if request.kind == Kind::Done => left -= 1,
            Some(request) => asked.push_back(request),
            None => {}
        }
        // Answers that find no buffer wait until others have arrived.
        while mailbox.can_send()
            && let Some((from, request)) = asked.pop_front()
        {
            let answer = answer(&mut gm, plan, file, request).await?;
            mailbox.send(&mut gm, from, &answer, true).await?;
            served += 1;
        }
        let end_ps = gm.system().now_ps();
        if served > 0 {
            served_ps += end_ps - begin_ps - (mailbox.waited_ps - waited_ps);
        }
        begin_ps = end_ps;
    }
    mailbox.flush(&mut gm).await?;
    let read = |region| look(&gm, plan, file, region);
    let regions: Result<Vec<_>, String> = (0..settings.regions).map(read).collect();
    let regions = regions?;
    deliveries.record(|own: &mut FileRecords| {
        (own.served, own.served_ps) = (served, served_ps);
        for (region, version, tag) in regions {
            match tag {
                Some(tag) => own.file.push(Sighting {
                    region,
                    version,
                    tag,
                }),
                None => own.defect(format!("region {region} is of no single write at the end")),
            }
        }
    });
    Ok(())
}

/// The version of a region and the write whose data it has.
fn look(
    gm: &Gm,
    plan: &FilePlan,
    file: VirtualAddress,
    region: u32,
) -> Result<(u32, u32, Option<u32>), String> {
    let (version, data) = read(gm, plan, file, region)?;
    Ok((region, version, tag_of(&data)))
}

fn read(
    gm: &Gm,
    plan: &FilePlan,
    file: VirtualAddress,
    region: u32,
) -> Result<(u32, Vec<u8>), String> {
    let place = RegionPlace::new(file, &plan.settings, region);
    let (mut version, mut data) = ([0; 4], vec![0; plan.settings.region_bytes as usize]);
    let read = gm.system().read_memory(place.version(), &mut version);
    let read = read.and_then(|()| gm.system().read_memory(place.data(), &mut data));
    read.map_err(|_| "the file is not mapped")?;
    Ok((u32::from_be_bytes(version), data))
}

/// Executes a request; the answer. The copy of its data is charged when it is sent.
async fn answer(
    gm: &mut Gm,
    plan: &FilePlan,
    file: VirtualAddress,
    request: Message,
) -> Result<Message, String> {
    let Message {
        kind,
        region,
        version: cached,
        data,
    } = request;
    if region >= plan.settings.regions {
        return Err(format!("a request of region {region}, which is none"));
    }
    let (version, present) = read(gm, plan, file, region)?;
    match kind {
        Kind::Write => {
            let place = RegionPlace::new(file, &plan.settings, region);
            let next = version.wrapping_add(2);
            let system = gm.system_mut();
            let written = system.write_memory(place.data(), &data);
            let written =
                written.and_then(|()| system.write_memory(place.version(), &next.to_be_bytes()));
            written.map_err(|_| "the file is not mapped")?;
            system.charge_copy(data.len()).await;
            Ok(Message::new(Kind::Answer, region, next, Vec::new()))
        }
        // A client without a copy names an odd version, which no region has.
        _ if cached == version => Ok(Message::new(Kind::Answer, region, version, Vec::new())),
        _ => Ok(Message::new(Kind::Answer, region, version, present)),
    }
}
