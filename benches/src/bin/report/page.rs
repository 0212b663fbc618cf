//! The report as a page: one file, with nothing to fetch.

use crate::{
    chart,
    contents::{Chart, Contents},
    groups::distinct,
    table::{Section, Table},
};
use askama::Template;
use std::{collections::HashMap, io};

#[derive(Debug, Template)]
#[template(path = "report.html", whitespace = "minimize")]
struct Page<'a> {
    contents: &'a Contents,
    /// SVG, by the labels of the charts.
    charts: HashMap<&'a str, String>,
    filters: Vec<Filter>,
    parts: Vec<Part<'a>>,
}

/// What groups can be chosen by.
#[derive(Debug)]
struct Filter {
    name: &'static str,
    values: Vec<String>,
}

/// A part with a table for each of its sections.
#[derive(Debug)]
struct Part<'a> {
    id: &'static str,
    title: &'static str,
    words: &'static str,
    sections: &'a [Section],
}

#[derive(Debug, Template)]
#[template(path = "table.html", whitespace = "minimize")]
struct Rendered<'a> {
    table: &'a Table,
}

impl Page<'_> {
    fn table<'t>(&self, table: &'t Table) -> Rendered<'t> {
        Rendered { table }
    }
}

/// The whole page.
pub(crate) fn page(contents: &Contents) -> io::Result<String> {
    let groups = || contents.protocols.iter().flat_map(|protocol| &protocol.groups);
    let draw = |chart: &'_ Chart| -> io::Result<String> {
        chart::svg(&chart.label, &chart.bars).map_err(|error| io::Error::other(format!("{}: {error}", chart.label)))
    };
    let mut charts = HashMap::new();
    for chart in groups().flat_map(|group| &group.charts) {
        charts.insert(chart.label.as_str(), draw(chart)?);
    }
    let filters = [
        ("protocol", contents.protocols.iter().map(|protocol| protocol.name.clone()).collect()),
        ("payload", distinct(groups().map(|group| group.payload.clone()))),
        ("load", distinct(groups().map(|group| group.load.clone()))),
        ("placement", distinct(groups().map(|group| group.placement.clone()))),
    ];
    let filters = filters.map(|(name, values)| Filter { name, values });
    let parts = [
        Part {
            id: "codec",
            title: "In memory",
            words: "What decoding and encoding costs without sockets, by the program codec: CPU time of the thread.",
            sections: &contents.codec,
        },
        Part { id: "memory", title: "Memory", words: "What a connection holds.", sections: &contents.memory },
        Part {
            id: "instructions",
            title: "Instructions",
            words: "Counted, not timed: the same on a noisy machine.",
            sections: &contents.counts,
        },
    ];
    let page = Page {
        contents,
        charts,
        filters: filters.into_iter().filter(|filter| filter.values.len() > 1).collect(),
        parts: parts.into_iter().filter(|part| !part.sections.is_empty()).collect(),
    };
    page.render().map_err(io::Error::other)
}
