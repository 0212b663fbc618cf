//! A program under callgrind, and what that counted.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What is counted: all between entering and leaving `cases::counted_pass`. It is a pattern, since a hash follows the name.
const COUNTED: &str = "*counts*counted_pass*";

/// Copies in vectors, however long: glibc's long ones are one instruction, which callgrind counts once for each byte.
const TUNABLES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1000000000");

/// What valgrind itself writes, line by line, begins with this and the process's number.
const VALGRIND_SAYS: &str = "==";

/// Valgrind, and this program, which it runs.
pub(crate) struct Callgrind {
    valgrind: PathBuf,
    /// As valgrind tells it.
    pub(crate) version: String,
    executable: PathBuf,
    /// Where profiles go: `NAME.CANDIDATE`, with `-` for `/`.
    pub(crate) profiles: PathBuf,
}

impl Callgrind {
    /// `None` if there is no valgrind.
    pub(crate) fn find() -> io::Result<Option<Self>> {
        let path = env::var_os("PATH").unwrap_or_default();
        let Some(valgrind) = env::split_paths(&path).map(|dir| dir.join("valgrind")).find(|file| file.is_file()) else {
            return Ok(None);
        };
        let version = Command::new(&valgrind).arg("--version").output()?;
        let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
        let executable = env::current_exe()?;
        let profiles = executable.with_extension("profiles");
        fs::create_dir_all(&profiles)?;
        Ok(Some(Self { valgrind, version, executable, profiles }))
    }

    /// Runs the program's own subcommand `pass`: what it says, and the instructions that were counted.
    ///
    /// It has no other environment, and is called by a short path: both would move its stack, and how many instructions a copy
    /// takes can depend on where things lie.
    pub(crate) fn run(&self, name: &str, candidate: &str) -> io::Result<(String, u64)> {
        let failed = |what: &str| io::Error::other(format!("{name}, {candidate}: {what}"));
        let (Some(directory), Some(program)) = (self.executable.parent(), self.executable.file_name()) else {
            return Err(failed("the program is nowhere"));
        };
        let profile = self.profiles.join(format!("{}.{candidate}", name.replace('/', "-")));
        let output = Command::new(&self.valgrind)
            .args(["--tool=callgrind", "--collect-atstart=no", &format!("--toggle-collect={COUNTED}")])
            .arg(format!("--callgrind-out-file={}", profile.display()))
            .arg(Path::new(".").join(program))
            .args(["pass", name, candidate])
            .current_dir(directory)
            .env_clear()
            .envs([TUNABLES])
            .output()?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let own = stderr.lines().find(|line| !line.starts_with(VALGRIND_SAYS)).or(stderr.lines().last());
            return Err(failed(&format!("{}: {}", output.status, own.unwrap_or("it says nothing"))));
        }
        let counted = instructions(&fs::read_to_string(&profile)?).map_err(|error| failed(&error))?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), counted))
    }
}

/// The total of a profile in callgrind's format.
fn instructions(profile: &str) -> Result<u64, String> {
    let value = |key: &str| profile.lines().find_map(|line| line.strip_prefix(key));
    if value("events:").is_none_or(|events| events.split_whitespace().next() != Some("Ir")) {
        return Err("the profile does not count instructions".to_owned());
    }
    let total = value("totals:").and_then(|total| total.split_whitespace().next()?.parse().ok());
    match total {
        None => Err("the profile has no total".to_owned()),
        Some(0) => Err("nothing was counted: is the executable stripped?".to_owned()),
        Some(total) => Ok(total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd:  ./counts pass x y\n\
        part: 1\n\ndesc: Trigger: Program termination\n\npositions: line\nevents: Ir\nsummary: 1234\n\n\
        fl=(1) ???\nfn=(1) counts::cases::counted_pass\n0 34\ncfn=(2) memcpy\ncalls=3 0\n0 1200\n\ntotals: 1234\n";

    #[test]
    fn a_profile_has_a_total() {
        assert_eq!(instructions(PROFILE), Ok(1234));
        let more_events = PROFILE.replace("events: Ir", "events: Ir Dr Dw").replace("totals: 1234", "totals: 1234 5 6");
        assert_eq!(instructions(&more_events), Ok(1234));
    }

    #[test]
    fn a_profile_that_is_none_is_an_error() {
        for (profile, error) in [
            (String::new(), "does not count instructions"),
            (PROFILE.replace("events: Ir", "events: Dr"), "does not count instructions"),
            (PROFILE.replace("totals", "total"), "has no total"),
            (PROFILE.replace("totals: 1234", "totals: many"), "has no total"),
            (PROFILE.replace("totals: 1234", "totals: 0"), "nothing was counted"),
        ] {
            assert!(instructions(&profile).unwrap_err().contains(error), "{error}");
        }
    }
}
