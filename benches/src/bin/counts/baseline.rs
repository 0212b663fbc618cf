//! What was counted, and what it is compared with.

use crate::tools::Tools;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

/// One count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) name: String,
    #[serde(rename = "impl")]
    pub(crate) candidate: String,
    pub(crate) instructions_per_message: f64,
}

/// One line of the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) counted: Counted,
    /// What it was; `null` if it was not counted.
    pub(crate) baseline: Option<f64>,
    pub(crate) change_percent: Option<f64>,
}

/// Counts that are kept: a line for the tools, then one for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Baseline {
    pub(crate) tools: Tools,
    pub(crate) counted: Vec<Counted>,
}

impl Baseline {
    /// `None` if there is no such file.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            text => text.and_then(|text| Self::parse(&text)).map(Some).map_err(named),
        }
    }

    fn parse(text: &str) -> io::Result<Self> {
        let mut lines = text.lines();
        let tools = serde_json::from_str(lines.next().unwrap_or_default())?;
        let counted = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { tools, counted })
    }

    /// Writes it, in the order of names.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, self.text()?)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    fn text(&self) -> io::Result<String> {
        let mut sorted: Vec<_> = self.counted.iter().collect();
        sorted.sort_by_key(|counted| (&counted.name, &counted.candidate));
        let mut text = serde_json::to_string(&self.tools)? + "\n";
        for counted in sorted {
            text += &serde_json::to_string(counted)?;
            text.push('\n');
        }
        Ok(text)
    }

    /// What is not as it was when this was counted, in words.
    pub(crate) fn differences(&self, now: &Tools) -> Vec<String> {
        let pairs = self.tools.told().into_iter().zip(now.told());
        let different = pairs.filter(|(then, now)| then != now);
        different.map(|(then, now)| format!("the baseline was counted with {then}, this with {now}")).collect()
    }
}

/// Each count beside what it was.
pub(crate) fn compare(counted: Vec<Counted>, baseline: Option<&Baseline>) -> Vec<Row> {
    let before = |now: &Counted| {
        let same = |then: &&Counted| (&then.name, &then.candidate) == (&now.name, &now.candidate);
        Some(baseline?.counted.iter().find(same)?.instructions_per_message)
    };
    let row = |counted: Counted| {
        let baseline = before(&counted);
        let change_percent = baseline.map(|then| (counted.instructions_per_message / then - 1.0) * 100.0);
        Row { counted, baseline, change_percent }
    };
    counted.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        let [rustc, valgrind, cpu] = ["rustc 1.95.0", "valgrind-3.19.0", "x86_64 avx2"].map(str::to_owned);
        Tools { rustc, valgrind, libc: Some("glibc 2.36".to_owned()), cpu }
    }

    fn counted(name: &str, candidate: &str, instructions_per_message: f64) -> Counted {
        Counted { name: name.to_owned(), candidate: candidate.to_owned(), instructions_per_message }
    }

    #[test]
    fn what_is_written_is_sorted_and_read_again() {
        let [a, b, c] = [("a", "bytewise", 1.25), ("a", "hand", 1.0 / 3.0), ("b", "bytewise", 70_000.0)]
            .map(|(name, candidate, count)| counted(name, candidate, count));
        let unsorted = Baseline { tools: tools(), counted: vec![c.clone(), b.clone(), a.clone()] };
        let text = unsorted.text().unwrap();
        assert_eq!(
            text,
            "{\"rustc\":\"rustc 1.95.0\",\"valgrind\":\"valgrind-3.19.0\",\"libc\":\"glibc 2.36\",\"cpu\":\"x86_64 avx2\"}\n\
             {\"name\":\"a\",\"impl\":\"bytewise\",\"instructions_per_message\":1.25}\n\
             {\"name\":\"a\",\"impl\":\"hand\",\"instructions_per_message\":0.3333333333333333}\n\
             {\"name\":\"b\",\"impl\":\"bytewise\",\"instructions_per_message\":70000.0}\n"
        );
        assert_eq!(Baseline::parse(&text).unwrap(), Baseline { tools: tools(), counted: vec![a, b, c] });
    }

    #[test]
    fn a_file_that_is_no_baseline_is_an_error_and_none_is_none() {
        let line = serde_json::to_string(&tools()).unwrap();
        for text in ["", "{}\n", &format!("{line}\n{{\"name\":\"a\"}}\n"), &format!("{line}\nnot JSON\n")] {
            assert!(Baseline::parse(text).is_err(), "{text}");
        }
        assert!(Baseline::parse(&line).unwrap().counted.is_empty());
        assert_eq!(Baseline::read(Path::new("no/such/file")).unwrap(), None);
    }

    #[test]
    fn changes_are_in_percent_of_what_it_was() {
        let before = vec![counted("a", "bytewise", 200.0), counted("a", "hand", 50.0)];
        let now = vec![counted("a", "bytewise", 150.0), counted("a", "hand", 50.0), counted("b", "bytewise", 7.0)];
        let baseline = Baseline { tools: tools(), counted: before };
        let changes = |rows: Vec<Row>| rows.iter().map(|row| (row.baseline, row.change_percent)).collect::<Vec<_>>();
        assert_eq!(
            changes(compare(now.clone(), Some(&baseline))),
            [(Some(200.0), Some(-25.0)), (Some(50.0), Some(0.0)), (None, None)]
        );
        assert_eq!(changes(compare(now, None)), [(None, None); 3]);
    }

    #[test]
    fn json_has_the_columns_and_null_for_what_is_not_known() {
        let rows = compare(vec![counted("a", "bytewise", 2.0)], None);
        assert_eq!(
            serde_json::to_string(&rows[0]).unwrap(),
            r#"{"name":"a","impl":"bytewise","instructions_per_message":2.0,"baseline":null,"change_percent":null}"#
        );
    }

    #[test]
    fn other_tools_are_named() {
        let baseline = Baseline { tools: tools(), counted: Vec::new() };
        assert!(baseline.differences(&tools()).is_empty());
        let now = Tools { rustc: "rustc 1.96.0".to_owned(), libc: None, ..tools() };
        assert_eq!(
            baseline.differences(&now),
            [
                "the baseline was counted with rustc 1.95.0, this with rustc 1.96.0",
                "the baseline was counted with glibc 2.36, this with an unknown libc"
            ]
        );
    }
}
