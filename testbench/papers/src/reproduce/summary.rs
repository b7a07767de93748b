//! The summary page in Markdown, with links to all other files.

use std::fmt::{self, Write};

use super::claims;
use super::figures::Figure;
use super::results::{ProfileResults, Results};
use super::rows::{self, NOT_MEASURED, Row};
use super::table::median_line;
use super::{Selection, explain};
use crate::experiments::scheme::Scheme;
use crate::published;
use lanigon_worlds::boards;

/// File name of a figure under a profile, without an extension.
#[must_use]
pub fn figure_file(figure: &Figure, profile: &ProfileResults) -> String {
    format!("figure-{}-{}", figure.id, profile.profile.name)
}

/// The page. `drawn` are the files of the figures.
#[must_use]
pub fn markdown(results: &Results, selection: &Selection, drawn: &[String]) -> String {
    let board = boards::DEFAULT.title;
    let mut text = format!(
        "# EMP on the {board}: what was published, and what comes out here\n\n\
         Written by `lanigon reproduce emp`. All numbers: [emp.json](emp.json), [emp.csv](emp.csv); the tables as the \
         terminal shows them: [emp.txt](emp.txt). What the roles mean: docs/emp-results.md.\n\n",
    );
    // Writing to a string cannot fail.
    let _ = write_page(&mut text, results, selection, drawn);
    text
}

fn write_page(
    text: &mut String,
    results: &Results,
    selection: &Selection,
    drawn: &[String],
) -> fmt::Result {
    for scheme in &results.missing {
        writeln!(
            text,
            "**{}: not measured: no image `{}`.**\n",
            scheme.title(),
            scheme.image()
        )?;
    }
    if results.partial {
        writeln!(text, "**Interrupted: values are missing.**\n")?;
    }
    write_claims(text, results, selection)?;
    for profile in &results.profiles {
        write_profile(text, results, profile, selection)?;
        for figure in &selection.figures {
            let file = figure_file(figure, profile);
            if drawn.contains(&file) {
                writeln!(
                    text,
                    "![Figure {}: {}]({file}.svg)\n",
                    figure.id, figure.title
                )?;
            }
        }
        write_explanations(text, profile)?;
    }
    Ok(())
}

fn write_claims(text: &mut String, results: &Results, selection: &Selection) -> fmt::Result {
    let claims = claims::judge(results, selection);
    let Some(first) = claims.first() else {
        return Ok(());
    };
    let count = |verdict| claims.iter().filter(|claim| claim.holds == verdict).count();
    writeln!(text, "## Claims\n")?;
    writeln!(
        text,
        "Judged under `{}`: {} hold, {} do not, {} cannot be judged.\n",
        first.profile,
        count(Some(true)),
        count(Some(false)),
        count(None)
    )?;
    writeln!(
        text,
        "| id | claim | holds | evidence |\n|----|-------|-------|----------|"
    )?;
    for claim in &claims {
        let holds = claim
            .holds
            .map_or("-", |holds| if holds { "yes" } else { "**no**" });
        writeln!(
            text,
            "| {} | {} | {holds} | {} |",
            claim.id, claim.claim, claim.evidence
        )?;
    }
    writeln!(text)
}

fn write_profile(
    text: &mut String,
    results: &Results,
    profile: &ProfileResults,
    selection: &Selection,
) -> fmt::Result {
    let rows = rows::of_profile(results, profile, selection);
    let numbered: Vec<_> = rows.iter().filter(|row| row.id.is_some()).collect();
    writeln!(
        text,
        "## Profile `{}`: {}\n",
        profile.profile.name, profile.profile.description
    )?;
    for median in rows::medians(&rows) {
        writeln!(text, "{}.\n", median_line(&median))?;
    }
    if numbered.is_empty() {
        return Ok(());
    }
    let revised: Vec<_> = explain::revised_costs(&profile.profile).collect();
    if !revised.is_empty() {
        writeln!(text, "{}: {}.\n", explain::REVISED, revised.join("; "))?;
    }
    writeln!(
        text,
        "| id | section | scheme | what | bytes | testbed | here | published | error | role | note |"
    )?;
    writeln!(
        text,
        "|----|---------|--------|------|-------|---------|------|-----------|-------|------|------|"
    )?;
    for row in numbered {
        write_row(text, row)?;
    }
    writeln!(text)
}

fn write_row(text: &mut String, row: &Row) -> fmt::Result {
    let section = row
        .id
        .and_then(published::by_id)
        .map_or("", |number| number.section);
    let error = match (row.error_percent, row.error_points, row.holds) {
        (Some(error), ..) => format!("{error:+.1} %"),
        (_, Some(error), _) => format!("{error:+.1} points"),
        (.., Some(holds)) => String::from(if holds { "holds" } else { "**fails**" }),
        _ => String::new(),
    };
    let role = if row.role == NOT_MEASURED {
        "**not measured**"
    } else {
        row.role
    };
    writeln!(
        text,
        "| {} | {section} | {} | {} {} | {} | {} | {} | {} {} | {error} | {role} | {} |",
        row.id.unwrap_or_default(),
        row.scheme,
        if row.experiment == "-" || row.experiment == row.metric {
            ""
        } else {
            row.experiment
        },
        row.metric,
        row.message_bytes
            .map_or(String::new(), |bytes| bytes.to_string()),
        row.testbed,
        row.value.map_or("-".into(), |value| value.to_string()),
        row.published.unwrap_or_default(),
        row.unit,
        row.note
    )
}

fn write_explanations(text: &mut String, profile: &ProfileResults) -> fmt::Result {
    for (scheme, measured) in &profile.schemes {
        if measured.usages.is_empty() {
            continue;
        }
        writeln!(
            text,
            "Bottlenecks of {} with large messages:\n",
            scheme.title()
        )?;
        for usage in &measured.usages {
            let name = usage.bottleneck_name().unwrap_or_default();
            writeln!(text, "* {}: {name}", usage.flow.name())?;
        }
        writeln!(text)?;
        if let Some(ledger) = measured
            .ledgers
            .values()
            .next()
            .filter(|_| *scheme == Scheme::Base)
        {
            writeln!(text, "```")?;
            explain::ledger(text, *scheme, &ledger.ledger)?;
            writeln!(text, "```\n")?;
        }
    }
    Ok(())
}
