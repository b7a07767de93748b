//! Reports as HTML.

use lanigon_figures::{Inline, escaped, inline};

use crate::{Block, Cell, Claim, Picture, Report, Section, Table, counts};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Allows what is in the page, and nothing from elsewhere.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Writes a report as one HTML page.
pub(crate) fn page(report: &Report) -> String {
    let pictures = report.sections.iter().flat_map(|section| &section.blocks);
    let pictures = pictures.filter_map(|block| match block {
        Block::Figure(picture) => Some(&picture.figure),
        _ => None,
    });
    let Inline { letters, figures } = inline(pictures);
    let mut figures = figures.into_iter();
    let title = escaped(&report.title);
    let links = (1..).zip(&report.sections);
    let links = links.map(|(number, section)| {
        format!(
            "<a href=\"#section-{number}\">{}</a>",
            escaped(&section.title)
        )
    });
    let links: Vec<_> = links.collect();
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{letters}<h1>{title}</h1>\n\
         <nav>{}</nav>\n",
        links.join("\n")
    );
    for (number, section) in (1..).zip(&report.sections) {
        text += &format!("<section id=\"section-{number}\">\n");
        add_section(&mut text, section, &mut figures);
        text += "</section>\n";
    }
    text + &format!(
        "<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn add_section(text: &mut String, section: &Section, figures: &mut impl Iterator<Item = String>) {
    *text += &format!("<h2>{}</h2>\n", escaped(&section.title));
    for block in &section.blocks {
        *text += &match block {
            Block::Text(words) => format!("<p>{}</p>\n", escaped(words)),
            Block::Lines(lines) => format!("<pre>{}</pre>\n", escaped_lines(lines)),
            Block::Facts(facts) => list(facts),
            Block::Links(links) => self::links(links),
            Block::Table(of) => table(of),
            Block::Figure(picture) => figure(picture, &figures.next().unwrap_or_default()),
            Block::Claims(claims) => self::claims(claims),
        };
    }
}

/// Text whose line breaks remain.
fn escaped_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(escaped).collect();
    lines.join("\n")
}

fn list(facts: &[(String, String)]) -> String {
    let rows = facts.iter().map(|(name, value)| {
        let (name, value) = (escaped(name), escaped(value));
        format!("<dt>{name}</dt><dd>{value}</dd>\n")
    });
    format!("<dl>\n{}</dl>\n", rows.collect::<String>())
}

fn links(links: &[(String, String)]) -> String {
    let rows = links.iter().map(|(name, page)| {
        let (name, page) = (escaped(name), escaped(page));
        format!("<li><a href=\"{page}\">{name}</a></li>\n")
    });
    format!("<ul>\n{}</ul>\n", rows.collect::<String>())
}

fn table(table: &Table) -> String {
    // A column of numbers is aligned to the right.
    let numeric = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        let mut cells = cells.filter(|cell| !cell.text.is_empty()).peekable();
        cells.peek().is_some() && cells.all(|cell| cell.number.is_some())
    };
    let heads = table.columns.iter().enumerate().map(|(column, name)| {
        let class = if numeric(column) {
            " class=\"number\""
        } else {
            ""
        };
        format!(
            "<th{class} aria-sort=\"none\"><button type=\"button\">{}</button></th>",
            escaped(name)
        )
    });
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(column, of)| cell(of, numeric(column)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    let title = escaped(&table.title);
    format!(
        "<figure class=\"table\">\n<figcaption>{title}\n\
         <label>filter: <input type=\"search\" placeholder=\"words of a row\"></label>\n\
         <output>{} rows</output></figcaption>\n<div><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n\
         </table></div>\n</figure>\n",
        table.rows.len(),
        heads.collect::<String>(),
        rows.collect::<String>()
    )
}

fn cell(cell: &Cell, right: bool) -> String {
    let mut classes = Vec::new();
    if right {
        classes.push("number");
    }
    match cell.good {
        Some(true) => classes.push("good"),
        Some(false) => classes.push("bad"),
        None => {}
    }
    let class = match classes.is_empty() {
        true => String::new(),
        false => format!(" class=\"{}\"", classes.join(" ")),
    };
    let finite = cell.number.filter(|number| number.is_finite());
    let number = finite.map_or_else(String::new, |number| format!(" data-number=\"{number}\""));
    format!("<td{class}{number}>{}</td>", escaped(&cell.text))
}

fn figure(picture: &Picture, svg: &str) -> String {
    let (file, caption) = (escaped(&picture.file), escaped(&picture.caption));
    let files = match file.is_empty() {
        true => String::new(),
        false => format!(" <span class=\"files\">{file}.svg, {file}.pdf</span>"),
    };
    format!(
        "<figure class=\"picture\">\n{svg}<figcaption>{caption}{files}</figcaption>\n</figure>\n"
    )
}

/// Claims are a table: they are sorted and filtered like others.
fn claims(claims: &[Claim]) -> String {
    let row = |claim: &Claim| {
        vec![
            Cell::text(&claim.id),
            Cell::text(&claim.text),
            Cell::text(claim.verdict()).news(claim.holds),
            Cell::text(&claim.evidence),
        ]
    };
    table(&Table {
        title: counts(claims),
        columns: ["id", "claim", "verdict", "evidence"]
            .map(String::from)
            .into(),
        rows: claims.iter().map(row).collect(),
    })
}
