//! What the counts depend on beside the sources.

use serde::{Deserialize, Serialize};
use std::process::Command;

/// What was counted with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tools {
    /// That built it.
    pub(crate) rustc: String,
    pub(crate) valgrind: String,
    /// Its copies count; `null` if it does not tell.
    pub(crate) libc: Option<String>,
    /// What libraries choose their code by at run time, as valgrind shows it.
    pub(crate) cpu: String,
}

impl Tools {
    /// Each in words.
    pub(crate) fn told(&self) -> [String; 4] {
        let Self { rustc, valgrind, libc, cpu } = self;
        let libc = libc.as_deref().unwrap_or("an unknown libc");
        [rustc.clone(), valgrind.clone(), libc.to_owned(), format!("the processor {cpu}")]
    }
}

/// `glibc` and its version.
pub(crate) fn libc() -> Option<String> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!version.is_empty()).then_some(version)
}

/// What of this processor libraries look at, as whoever runs this program shows it.
pub(crate) fn cpu() -> String {
    #[cfg(target_arch = "x86_64")]
    let features = [
        ("ssse3", is_x86_feature_detected!("ssse3")),
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("pclmulqdq", is_x86_feature_detected!("pclmulqdq")),
        ("aes", is_x86_feature_detected!("aes")),
        ("avx", is_x86_feature_detected!("avx")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("sha", is_x86_feature_detected!("sha")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let features: [(&str, bool); 0] = [];
    let there = features.into_iter().filter_map(|(name, is_there)| is_there.then_some(name));
    [std::env::consts::ARCH].into_iter().chain(there).collect::<Vec<_>>().join(" ")
}
