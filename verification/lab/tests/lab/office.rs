//! What an operator was promised: files, versions, a command line, service accounts, join tokens and a player's ticket.

use std::collections::BTreeMap;

use mainstay_lab::words::{Asked, FILE_BYTES, Job, SeenWork};

/// One of a kind that is made and taken back.
#[derive(Debug, Default)]
pub struct Kept {
    /// What it is, by the last answer; `None` once it was taken back.
    pub is: Option<String>,
    /// What was asked since, without an answer.
    pub pending: Option<Asked>,
}

/// A file of the build's next version, by the last answers.
#[derive(Debug, Default)]
struct File {
    named: bool,
    come: u64,
    removed: bool,
}

/// What the operator was promised.
#[derive(Debug, Default)]
pub struct Work {
    files: BTreeMap<String, File>,
    /// What was asked of a file or of the build since.
    pending: Option<(Job, String)>,
    version: u64,
    line: Option<String>,
    asked_line: Option<String>,
    account: Kept,
    token: Kept,
    ticket: Kept,
    /// The account that was made last, as `KEY:SECRET`.
    pub last_account: Option<String>,
}

impl Kept {
    /// Whether what is seen can be: as the last answer said, or as what was asked since makes it.
    pub fn may_be(&self, seen: Option<&String>, makes: Asked) -> bool {
        let as_answered = seen == self.is.as_ref();
        match self.pending {
            None => as_answered,
            Some(asked) if asked == makes => as_answered || seen.is_some(),
            Some(_) => as_answered || seen.is_none(),
        }
    }

    fn is_kept_by(&mut self, seen: &[String], makes: Asked) {
        let kept = seen.len() <= 1 && self.may_be(seen.first(), makes);
        assert!(kept, "what was made is not what was promised: {seen:?}, and {self:?}");
        *self = Self { is: seen.first().cloned(), pending: None };
    }
}

impl Work {
    /// Something is about to be asked.
    pub fn hear_asking(&mut self, job: Job, id: &str) {
        match job {
            Job::Name | Job::Send | Job::Remove | Job::Publish => {
                if job == Job::Name {
                    self.files.entry(id.to_owned()).or_default();
                }
                self.pending = Some((job, id.to_owned()));
            }
            Job::Change => self.asked_line = Some(id.to_owned()),
            Job::Admit | Job::Revoke => self.account.pending = Some(Asked::Work(job)),
            Job::Invite | Job::Withdraw => self.token.pending = Some(Asked::Work(job)),
            Job::Search | Job::Cancel => self.ticket.pending = Some(Asked::Work(job)),
        }
    }

    /// It was answered.
    pub fn hear_answer(&mut self, job: Job, id: &str, told: Option<String>) {
        let file = |work: &mut Self, change: fn(&mut File, u64)| {
            work.pending = None;
            change(work.files.entry(path(id).to_owned()).or_default(), last(id));
        };
        match job {
            Job::Name => file(self, |file, _| file.named = true),
            Job::Send => file(self, |file, last| file.come = last),
            Job::Remove => file(self, |file, _| file.removed = true),
            Job::Publish => {
                self.pending = None;
                self.version = told.unwrap().parse().unwrap();
            }
            Job::Change => (self.line, self.asked_line) = (Some(id.to_owned()), None),
            Job::Admit => {
                let key = told.as_ref().unwrap().split(':').next().unwrap().to_owned();
                (self.account, self.last_account) = (Kept { is: Some(key), pending: None }, told);
            }
            Job::Invite => self.token = Kept { is: told, pending: None },
            Job::Revoke => self.account = Kept::default(),
            Job::Withdraw => self.token = Kept::default(),
            Job::Search => self.ticket = Kept { is: told, pending: None },
            Job::Cancel => self.ticket = Kept::default(),
        }
    }

    /// Everything acknowledged is there; what was not is as before, or as it was asked.
    pub fn is_kept_by(&mut self, seen: &SeenWork) {
        self.files_are_kept_by(seen);
        let asked_version = u64::from(matches!(self.pending, Some((Job::Publish, _))));
        let versions = self.version..=self.version + asked_version;
        assert!(
            versions.contains(&seen.version),
            "a version is not what was promised: {seen:?}, and {self:?}"
        );
        let line = Some(&seen.command_line);
        let kept = self.line.is_none() || line == self.line.as_ref() || line == self.asked_line.as_ref();
        assert!(kept, "a build configuration is not what was promised: {seen:?}, and {self:?}");
        self.account.is_kept_by(&seen.accounts, Asked::Work(Job::Admit));
        self.token.is_kept_by(&seen.tokens, Asked::Work(Job::Invite));
        self.ticket.is_kept_by(&seen.tickets, Asked::Work(Job::Search));
        let key = |account: &String| account.split(':').next().unwrap().to_owned();
        let may_ask = self.last_account.as_ref().map(|account| seen.accounts.contains(&key(account)));
        assert_eq!(seen.account_may_ask, may_ask, "an account is not what was promised: {seen:?}");
        (self.version, self.line, self.asked_line, self.pending) =
            (seen.version, Some(seen.command_line.clone()), None, None);
    }

    fn files_are_kept_by(&mut self, seen: &SeenWork) {
        for file in &seen.files {
            assert!(self.files.contains_key(&file.path), "nobody asked for {file:?}");
        }
        for (path, promised) in &mut self.files {
            let pending = self.pending.as_ref().filter(|(_, id)| self::path(id) == path);
            let is_pending = |job: Job| pending.is_some_and(|(pending, _)| *pending == job);
            let found = seen.files.iter().find(|file| file.path == *path);
            let Some(file) = found else {
                let may_be_gone = !promised.named || promised.removed || is_pending(Job::Remove);
                assert!(may_be_gone, "a file is not what was promised: {path} is gone, and {promised:?}");
                promised.removed = true;
                continue;
            };
            let most = if is_pending(Job::Send) { last(&pending.unwrap().1) } else { promised.come };
            let come = (promised.come..=most).contains(&file.come);
            let whole = file.whole || promised.come < FILE_BYTES;
            assert!(
                come && whole && !promised.removed,
                "a file is not what was promised: {file:?}, and {promised:?}, {pending:?}"
            );
            (promised.named, promised.come) = (true, file.come);
        }
    }
}

/// The file of an id, which may say up to which byte.
fn path(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

fn last(id: &str) -> u64 {
    id.split_once('/').map_or(0, |(_, last)| last.parse().unwrap())
}
