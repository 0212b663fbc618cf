//! Where rows go while it runs, and which are there already.

use crate::{
    options::Settings,
    plan::{Entry, Group, Plan},
    provenance::Provenance,
    summary::Row,
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Seek, SeekFrom, Write},
    path::Path,
};

/// The rows so far; as JSON Lines they are written as soon as there are some, behind where they come from.
pub struct Results {
    to: Option<Box<dyn Write>>,
    rows: Vec<Row>,
}

impl Results {
    /// Before anything is measured, so that it need not be measured again.
    ///
    /// # Errors
    ///
    /// The file cannot be written; or its rows are to be kept, and others could not stand beside them.
    pub fn open(settings: &Settings, provenance: &Provenance) -> io::Result<Self> {
        let Some(path) = settings.json.as_deref() else { return Ok(Self { to: None, rows: Vec::new() }) };
        if path == Path::new("-") {
            return Self::begin(Box::new(io::stdout()), provenance);
        }
        let opened = match settings.resume {
            true => Self::resume(path, provenance),
            false => File::create(path).and_then(|file| Self::begin(Box::new(file), provenance)),
        };
        opened.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }

    fn begin(mut to: Box<dyn Write>, provenance: &Provenance) -> io::Result<Self> {
        write_lines(&mut to, [provenance])?;
        Ok(Self { to: Some(to), rows: Vec::new() })
    }

    /// Goes on behind the last whole line: who was interrupted may have left a part of one.
    fn resume(path: &Path, provenance: &Provenance) -> io::Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            result => result?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        let mut lines = whole.lines();
        let Some(first) = lines.next() else {
            file.set_len(0)?;
            return Self::begin(Box::new(file), provenance);
        };
        let earlier = serde_json::from_str(first)
            .map_err(|error| io::Error::other(format!("its first line does not say where it comes from ({error})")))?;
        same(&earlier, provenance)?;
        let rows = lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(io::Error::other)?;
        file.set_len(whole.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { to: Some(Box::new(file)), rows })
    }

    /// Leaves out of the plan what was measured before. The floor stays with what is left of its group.
    pub fn leave_out(&self, plan: &mut Plan) {
        for group in &mut plan.groups {
            let has = |entry: &Entry| self.rows.iter().any(|row| row.is_of(group, entry));
            let (mut left, mut all) = (Vec::new(), true);
            for entry in &group.entries {
                let has = has(entry);
                all &= has;
                if !has || entry.is_floor() {
                    left.push(*entry);
                }
            }
            group.entries = if all { Vec::new() } else { left };
        }
        plan.groups.retain(|group| !group.entries.is_empty());
    }

    /// Adds the rows of a group, but for a floor that is there already.
    pub fn add(&mut self, group: &Group, mut rows: Vec<Row>) -> io::Result<()> {
        let is_there = |new: &Row| {
            let is_it = |entry: &&Entry| new.is_of(group, entry);
            let entry = group.entries.iter().find(is_it);
            entry.is_some_and(|entry| self.rows.iter().any(|row| row.is_of(group, entry)))
        };
        rows.retain(|row| !is_there(row));
        if let Some(to) = &mut self.to {
            write_lines(to, &rows)?;
        }
        self.rows.extend(rows);
        Ok(())
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

impl std::fmt::Debug for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// At once, so that who reads the file meanwhile, or is interrupted, has whole lines.
fn write_lines(to: &mut impl Write, lines: impl IntoIterator<Item = impl serde::Serialize>) -> io::Result<()> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, &line)?;
        text.push(b'\n');
    }
    to.write_all(&text)?;
    to.flush()
}

/// That rows of both may be compared: the same program, machine and settings.
fn same(earlier: &Provenance, now: &Provenance) -> io::Result<()> {
    // What was read is compared with what would be read: numbers may lose their last digit on the way.
    let now: Provenance = serde_json::from_slice(&serde_json::to_vec(now)?)?;
    let mut differences = Vec::new();
    let mut compare = |what: &str, earlier: String, now: String| {
        if earlier != now {
            differences.push(format!("{what}: {earlier}, and now {now}"));
        }
    };
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let cores = |cores: Option<usize>| or_none(&cores.map(|cores| cores.to_string()));
    compare("program", earlier.program.clone(), now.program.clone());
    compare("settings", earlier.settings.to_string(), now.settings.to_string());
    compare("commit", or_none(&earlier.commit), or_none(&now.commit));
    compare("compiler", earlier.rustc.clone(), now.rustc.clone());
    compare("kernel", or_none(&earlier.kernel), or_none(&now.kernel));
    compare("processor", or_none(&earlier.cpu), or_none(&now.cpu));
    compare("cores", cores(earlier.cores), cores(now.cores));
    match differences.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(format!("its rows are of another kind ({})", differences.join("; ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        options::Options,
        summary::{self, Sample},
    };
    use clap::Parser;
    use std::path::PathBuf;

    /// A file of its own for a test, removed in the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("bytewise-results-{name}-{}", std::process::id())))
        }

        fn text(&self) -> String {
            fs::read_to_string(&self.0).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn settings(file: &Scratch, arguments: &str) -> Settings {
        let file = file.0.to_str().unwrap();
        let arguments = ["compare", "--json", file, "--peers", "none", "--load", "1x1", "--topology", "1x1"]
            .into_iter()
            .chain(arguments.split_whitespace());
        Options::try_parse_from(arguments).unwrap().settle(false).unwrap()
    }

    fn open(settings: &Settings) -> io::Result<Results> {
        Results::open(settings, &Provenance::new("compare", settings.provenance()))
    }

    /// A round with those numbers for each entry.
    fn rows(group: &Group, cpu: f64, error: Option<&str>) -> Vec<Row> {
        let sample = |at: usize| match error {
            Some(error) if at > 0 => Sample::failed(error.to_owned()),
            _ => Sample { round_trips_per_s: 1e6, cpu_ns_per_round_trip: cpu, ..Sample::default() },
        };
        summary::rows(group, &[(0..group.entries.len()).map(sample).collect()], 0)
    }

    #[test]
    fn what_is_there_is_left_out_and_the_rest_of_a_group_has_its_floor() {
        let file = Scratch::new("skips");
        let settings = settings(&file, "--resume --payload 64,1024 --runtime tokio,smol");
        let mut results = open(&settings).unwrap();
        let plan = Plan::new(&settings);
        assert_eq!((plan.groups.len(), plan.groups[0].entries.len()), (2, 3));
        results.add(&plan.groups[0], rows(&plan.groups[0], 10.0, None)).unwrap();
        let mut second = rows(&plan.groups[1], 10.0, None);
        second.truncate(2);
        results.add(&plan.groups[1], second).unwrap();
        drop(results);

        let mut results = open(&settings).unwrap();
        let mut left = Plan::new(&settings);
        results.leave_out(&mut left);
        let entries: Vec<_> = left.groups.iter().map(|group| (group.payload, format!("{:?}", group.entries))).collect();
        assert_eq!(entries, [(1024, "[floor epoll 1x1, bytewise smol 1x1]".to_owned())]);
        let before = file.text();
        results.add(&left.groups[0], rows(&left.groups[0], 30.0, None)).unwrap();
        let text = file.text();
        let new: Vec<_> = text.strip_prefix(&before).unwrap().lines().collect();
        assert!(new.len() == 1 && new[0].contains(r#""runtime":"smol""#), "{new:?}");
        assert_eq!(results.rows().len(), 6);
        results.leave_out(&mut left);
        assert!(left.groups.is_empty());
    }

    #[test]
    fn a_partial_line_is_dropped() {
        let file = Scratch::new("partial");
        let settings = settings(&file, "--resume --payload 64 --runtime tokio");
        let plan = Plan::new(&settings);
        let mut results = open(&settings).unwrap();
        results.add(&plan.groups[0], rows(&plan.groups[0], 10.0, None)).unwrap();
        let whole = file.text();
        let last = whole.trim_end().rfind('\n').unwrap() + 1;
        for cut in [last, last + 1, last + 40, whole.len() - 1] {
            fs::write(&file.0, &whole[..cut]).unwrap();
            let mut results = open(&settings).unwrap();
            assert_eq!((file.text().as_str(), results.rows().len()), (&whole[..last], 1), "cut at {cut}");
            let mut left = Plan::new(&settings);
            results.leave_out(&mut left);
            results.add(&left.groups[0], rows(&left.groups[0], 10.0, None)).unwrap();
            assert_eq!(file.text(), whole, "cut at {cut}");
        }
        let first = whole.find('\n').unwrap();
        fs::write(&file.0, &whole[..first / 2]).unwrap();
        assert!(open(&settings).unwrap().rows().is_empty());
        assert_eq!(file.text().lines().count(), 1);
    }

    #[test]
    fn other_settings_are_refused_and_nothing_is_lost() {
        let file = Scratch::new("refuses");
        let earlier = settings(&file, "--payload 64 --seconds 0.3");
        let plan = Plan::new(&earlier);
        open(&earlier).unwrap().add(&plan.groups[0], rows(&plan.groups[0], 10.0, None)).unwrap();
        let text = file.text();
        for (arguments, word) in [
            ("--seconds 0.7", "0.7"),
            ("--seconds 0.3 --repeat 9", "\"repeat\":9"),
            ("--seconds 0.3 --work 5", "\"work\":5"),
        ] {
            let error = open(&settings(&file, &format!("--resume {arguments}"))).unwrap_err().to_string();
            assert!(error.contains("of another kind") && error.contains(word), "{error}");
        }
        let now = settings(&file, "--resume --seconds 0.3");
        let elsewhere = Provenance { cpu: Some("Another".to_owned()), ..Provenance::new("compare", now.provenance()) };
        assert!(Results::open(&now, &elsewhere).unwrap_err().to_string().contains("now Another"));
        assert_eq!(file.text(), text);
        assert!(!open(&now).unwrap().rows().is_empty());
        fs::write(&file.0, "something else\n").unwrap();
        assert!(open(&now).unwrap_err().to_string().contains("where it comes from"));
    }

    #[test]
    fn a_failed_row_is_kept_with_its_error_and_without_ratios() {
        let file = Scratch::new("failed");
        let settings = settings(&file, "--resume --payload 64 --runtime tokio");
        let plan = Plan::new(&settings);
        let failed = rows(&plan.groups[0], 10.0, Some("it does not start"));
        open(&settings).unwrap().add(&plan.groups[0], failed).unwrap();
        let results = open(&settings).unwrap();
        let row = &results.rows()[1];
        assert_eq!((row.errors, row.error.as_deref()), (1, Some("it does not start")));
        assert_eq!((row.floor_ratio, row.round_trips_per_s), (None, None));
        let mut left = Plan::new(&settings);
        results.leave_out(&mut left);
        assert!(left.groups.is_empty());
    }
}
