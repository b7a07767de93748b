//! The tables with settings of message protocols: `[emp]`, `[gm]`, `[fm]` and `[acenic]`, of the scenario and of its nodes.

use super::acenic::AcenicSettings;
use super::emp::EmpSettings;
use super::error::{Position, ScenarioError};
use super::fm::FmSettings;
use super::gm::GmSettings;
use super::nodes::Node;
use super::table::Table;
use crate::boards::Protocol;

/// Settings of a node for each message protocol, of which its firmware runs one.
#[derive(Debug, Clone, Default)]
pub struct ProtocolSettings {
    /// EMP's.
    pub emp: EmpSettings,
    /// GM's.
    pub gm: GmSettings,
    /// FM's.
    pub fm: FmSettings,
    /// Settings of the driver for AceNIC firmware.
    pub acenic: AcenicSettings,
    /// The tables that hold for the node.
    given: Vec<(Protocol, Position)>,
}

impl ProtocolSettings {
    /// These settings with those of the protocols' tables in `table`.
    pub(super) fn read(&self, table: &mut Table<'_>) -> Result<Self, ScenarioError> {
        let emp = table.table("emp")?;
        let gm = table.table("gm")?;
        let fm = table.table("fm")?;
        let acenic = table.table("acenic")?;
        let own = [
            (Protocol::Emp, &emp),
            (Protocol::Gm, &gm),
            (Protocol::Fm, &fm),
            (Protocol::Acenic, &acenic),
        ];
        let mut given = self.given.clone();
        given.extend(
            own.iter()
                .filter_map(|(protocol, table)| Some((*protocol, table.as_ref()?.place.clone()))),
        );
        Ok(Self {
            emp: self.emp.read(emp)?,
            gm: self.gm.read(gm)?,
            fm: self.fm.read(fm)?,
            acenic: self.acenic.read(acenic)?,
            given,
        })
    }

    /// The only protocol with a table among those that came to `other` settings.
    pub(super) fn only_protocol_beyond(&self, other: &Self) -> Option<Protocol> {
        match &self.given[other.given.len()..] {
            [(protocol, _)] => Some(*protocol),
            _ => None,
        }
    }
}

/// Warnings about settings without an effect: those of a protocol that no node with these settings runs.
pub(super) fn warnings(nodes: &[Node]) -> Vec<String> {
    let mut tables: Vec<&(Protocol, Position)> = Vec::new();
    for table in nodes.iter().flat_map(|node| &node.settings.given) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    let is_used = |table: &&(Protocol, Position)| {
        let mut holders = nodes
            .iter()
            .filter(|node| node.settings.given.contains(table));
        holders.any(|node| node.protocol == Some(table.0))
    };
    let unused = tables.into_iter().filter(|table| !is_used(table));
    unused
        .map(|(protocol, place)| {
            let (key, protocol) = (&place.key, protocol.name());
            format!("{place}: [{key}] has no effect: none of its nodes runs {protocol}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn settings_without_an_effect_are_told() {
        let check = |tables: &str, expected: &[&str]| {
            let text = format!(
                "{tables}[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nbytes = 100\nmessages = 1\n"
            );
            let scenario = Scenario::parse("s.toml", &text).unwrap();
            assert_eq!(scenario.warnings, expected, "{tables}");
        };
        check("", &[]);
        check("[emp]\nack_group = 4\n", &[]);
        check("[gm]\nresend_us = 100\n", &[]);
        check(
            "protocol = \"gm\"\n[emp]\nack_group = 4\n[gm]\nresend_us = 100\n",
            &["s.toml:2: [emp] has no effect: none of its nodes runs EMP"],
        );
        let nodes = |protocol: &str| {
            format!(
                "[emp]\nack_group = 4\n[[node]]\nname = \"a\"\ncount = 2\nprotocol = \"{protocol}\"\n[node.gm]\nresend_us = 100\n"
            )
        };
        check(
            &nodes("emp"),
            &["s.toml:7: [node.gm] has no effect: none of its nodes runs GM"],
        );
        check(
            &nodes("gm"),
            &["s.toml:1: [emp] has no effect: none of its nodes runs EMP"],
        );
    }
}
