//! The codes of configuration problems, and the page `mainstay explain` prints for each.

use std::fmt;

/// How much a problem weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is used; something in it is probably not what was meant.
    Warning,
    /// The configuration is refused.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $explain:literal)*) => {
        /// A configuration problem's code, stable across releases.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $explain] $variant,)* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code as printed, such as `MS-C014`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// How much a problem of this code weighs.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What the code means and how such a problem is mended.
            pub const fn explain(self) -> &'static str {
                match self { $(Self::$variant => $explain,)* }
            }
        }
    };
}

codes! {
    Syntax "MS-C001" Error
        "The file is not one YAML document in UTF-8. Reading stops at the place shown, so later problems of the same file appear only once this one is mended. Common causes: a tab used for indentation, a missing space after a colon, a value with a colon or `#` that needs quotes."
    TooBig "MS-C002" Error
        "The file, its nesting, what its aliases expand to, or the number of files is over a limit. The limits lie far above any real configuration and keep a wrong file or an alias bomb from taking the machine's memory. Split the file; several files are merged."
    WrongShape "MS-C003" Error
        "A mapping, a list or a single value stands where another of these is needed, or a value is missing."
    UnknownKey "MS-C004" Error
        "No such key exists here. An unknown key is refused instead of ignored, because an ignored one would look as if it worked. Keys that begin with `x-` are free for your own notes and tools."
    DuplicateKey "MS-C005" Error
        "The same key is written twice in one mapping; only one of them could count."
    DuplicateName "MS-C006" Error
        "Two builds, two build configurations, two fleets, or two regions of one fleet have the same name. Names are identities: across all files given together each may be defined once. Regions differ by more than case."
    MissingKey "MS-C007" Error
        "A key that has no default is missing: a build configuration needs its build and its binaryPath."
    Version "MS-C008" Error
        "Every file begins with `version: 1.0` (a number or a string), the version of the .gsh schema that mainstay.yaml extends."
    NotYet "MS-C009" Error
        "The key is part of mainstay.yaml, but this version of Mainstay cannot do what it asks for yet. It is refused instead of ignored. Remove it, or prefix it with `x-` to keep it for later."
    BadNumber "MS-C010" Error
        "The value is not a number of the kind this key takes, or lies outside its range."
    BadDuration "MS-C011" Error
        "Durations are written with a unit: 500ms, 20s, 30m, 1h, 1h30m. A bare number is refused, because its unit would be a guess."
    BadSize "MS-C012" Error
        "Memory is a whole number of MiB, as in .gsh, or a number with a unit: 512MiB, 2GiB, 800MB."
    NotAllowed "MS-C013" Error
        "The key takes one of a few words, and this is none of them."
    UnknownBuildConfiguration "MS-C014" Error
        "A fleet lists a build configuration that none of the given files defines. Mend the spelling, or give the file that defines it as well."
    UnknownBuild "MS-C015" Error
        "A build configuration names a build that none of the given files defines. Unity looks such a build up in its service; Mainstay's builds are the ones in your files."
    BadBinaryPath "MS-C016" Error
        "binaryPath is relative to the build's folder: it may not begin with `/` (Unity's rule) and may not leave the folder by `..`. For a binary that is installed on the machine, set the build's buildPath to its folder, for example buildPath: /usr/games with binaryPath: teeworlds-server."
    CapTooLow "MS-C017" Error
        "The check of memory use compares with the limit and tolerates 200 MB above it. A hard cap at or below limit + 200 MB would kill the server before the check could notice anything, so a cap must lie above that."
    QueryMismatch "MS-C018" Error
        "The query block does not fit the queryType. Only `udp` takes `request` and `expect`, and it needs a `request`; `none` asks nothing and takes no block."
    BadHex "MS-C019" Error
        "Bytes are written in hexadecimal, two digits each; spaces between them are allowed."
    BadCommandLine "MS-C020" Error
        "The command line cannot be split into arguments: a quote is opened and never closed, or it is over the length limit. Arguments are separated by spaces; '…' and \"…\" keep spaces in one argument; a backslash keeps the next quote, space or backslash."
    UnknownVariable "MS-C021" Warning
        "No launch parameter and no custom variable has this name, so the text reaches the game as written. Launch parameters are, among others, $$port$$, $$query_port$$, $$ip$$, $$serverid$$, $$log_dir$$, $$config_dir$$; every key under `variables` may be used as $$key$$ as well."
    LimitsTwice "MS-C022" Error
        "The resource limits are written twice: in `limits`, and in the older cores, speedMhz and memoryMiB. Keep one of them."
    BadPorts "MS-C023" Error
        "Ports are written as a range, first-last, such as 20000-20999, within 1024 to 65535, with room for at least one server's two ports (game and query)."
    BadVariableName "MS-C024" Error
        "An environment variable's name consists of letters, digits and `_`, and does not begin with a digit. A custom variable's name may not be empty or contain `$`."
    RegionHoldsNothing "MS-C025" Warning
        "The region takes part, but maxServers is 0 (the default of .gsh), so no server can ever be allocated there. Set maxServers, or online: false."
    BadName "MS-C026" Error
        "A name is empty, too long, or has control characters. Names may have spaces."
    BuildPathMissing "MS-C027" Error
        "The build has no usable folder on this machine: no buildPath is written, or it is a Windows path, or the folder does not exist, or only its owner may enter it. A relative buildPath counts from the folder of the file it is written in."
    BinaryMissing "MS-C028" Error
        "The build's folder exists, but not the binary in it."
    BinaryNotExecutable "MS-C029" Error
        "The binary exists but cannot be started: it is no regular file or lacks the executable bit. Copies from Windows or from a zip file often lose the bit."
    BadUsage "MS-C030" Error
        "usageSettings follow Unity's rules: hardwareType is CLOUD or METAL; CLOUD needs maxServersPerMachine; machineType belongs to CLOUD alone, maxServersPerCore to METAL alone."
    NothingToRun "MS-C031" Warning
        "The fleet has no build configurations or no regions, so it will never run a server."
    QuotaHidesCheck "MS-C032" Warning
        "The check of CPU use compares with the limit and tolerates 10 % above it. A quota at or below that keeps a misbehaving server under the check's threshold for ever."
    ShadowedVariable "MS-C033" Warning
        "server.json has a field of this name of its own, which wins: the custom variable will not be seen there."
    HasNoEffect "MS-C034" Warning
        "The value is understood but changes nothing where it stands."
    ImageUnusable "MS-C035" Error
        "The build's image is named in no form that is known here, stands beside a buildPath, or its file does not exist. An image is oci:FOLDER or oci-archive:FILE, with :NAME behind it where several are in it, or docker://REFERENCE, in the words of skopeo; relative paths count from the folder of the file they are written in."
    BadDisk "MS-C036" Error
        "The disk budget of a machine is a whole number of MiB, or has a unit (20GiB, 500MB), and is at least 1 MiB."
    UnknownProvider "MS-C040" Error
        "A region names a machine provider that none of the given files defines. Mend the spelling, or define it under `providers`."
    TtlOrder "MS-C041" Error
        "A machine is emptied before it is deleted, so `delete` of a fleet's ttl may not be shorter than `shutdown`: both count from when its last server was free."
    BuildPathPrivate "MS-C042" Error
        "The build's folder or image is, or lies in, the control plane's own data directory, where its keys and credentials are: machines and games would be given them. Name a folder that holds the game alone. A folder that contains the data directory may be named: machines are given it without the data directory."
    BadQueue "MS-C043" Error
        "The queue could never match as it is written: sizes that no match can have, teams that cannot be filled, a rule whose limits exclude everyone, or a number that is none. The place shown is the rule, the team or the key at fault; PlayFab refuses such a queue as well."
    NoServers "MS-C044" Error
        "A queue's matches, or a build of PlayFab's, are to get servers of a fleet or build configuration that none of the given files defines, or of a build that `playfab: builds:` does not map. Mend the spelling, or add what is missing."
    DefaultFitsNobody "MS-C045" Warning
        "A player who lacks the rule's attribute stands for a list of fewer values than the rule wants shared, however long it waits: each ticket with such a player ends at once, with TicketUnmatchable. If everybody is to send the attribute that is right; else lengthen defaultAttributeValue, lower minIntersectionSize, or say attributeNotSpecifiedBehavior: MatchAny."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The explanation of a code given as text (`MS-C014`, case-insensitive), or nothing for a code of another family.
pub fn explain(code: &str) -> Option<&'static str> {
    Code::ALL
        .iter()
        .find(|known| known.as_str().eq_ignore_ascii_case(code.trim()))
        .map(|known| known.explain())
}
