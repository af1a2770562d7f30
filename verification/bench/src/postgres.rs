//! The yardstick: the same number of single-row claims, committed by PostgreSQL on the same disk in the same run.
//!
//! A claim takes any free row (`FOR UPDATE SKIP LOCKED`), as a server table in a database would be used; a release gives
//! it back. Each is one transaction, committed with `fsync` on, as PostgreSQL comes.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;

use crate::Failure;
use crate::report::{Run, histogram};

/// How long a fresh server may take to its first connection.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A private PostgreSQL: its own data directory, a Unix socket in it, no TCP.
pub struct Postgres {
    folder: tempfile::TempDir,
    server: Child,
}

impl Postgres {
    /// Starts one beside `disk`, so that both write to the same disk.
    pub fn start(disk: &Path) -> Result<Self, Failure> {
        let binaries = binaries()?;
        let folder = tempfile::Builder::new().prefix("postgres").tempdir_in(disk)?;
        let owner = owner()?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
        if let Some((uid, gid)) = owner {
            chown(folder.path(), Some(uid), Some(gid))?;
        }
        let data = folder.path().join("data");
        let made = as_owner(owner, &binaries.join("initdb"))
            .args(["-A", "trust", "-U", "postgres", "--no-instructions", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .current_dir("/")
            .status()?;
        if !made.success() {
            return Err(format!("initdb ended with {made}").into());
        }
        let server = as_owner(owner, &binaries.join("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=", "-c", "max_connections=200"])
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { folder, server })
    }

    async fn connect(&self) -> Result<tokio_postgres::Client, Failure> {
        let mut config = tokio_postgres::Config::new();
        config.host_path(self.folder.path()).user("postgres").dbname("postgres");
        let began = Instant::now();
        loop {
            match config.connect(NoTls).await {
                Ok((client, connection)) => {
                    tokio::spawn(connection);
                    return Ok(client);
                }
                Err(error) if began.elapsed() > START_TIMEOUT => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Fills the table of servers.
    pub async fn prepare(&self, servers: u64) -> Result<(), Failure> {
        let client = self.connect().await?;
        client
            .batch_execute(&format!(
                "drop table if exists servers; create table servers (id bigint primary key, allocation uuid); \
                 insert into servers select n, null from generate_series(1, {servers}) n; \
                 create index on servers (id) where allocation is null; analyze servers"
            ))
            .await?;
        Ok(())
    }

    /// Claims and releases over so many connections until the time is over.
    pub async fn measure(&self, connections: u64, time: Duration) -> Result<Run, Failure> {
        let began = Instant::now();
        let mut workers = Vec::new();
        for _ in 0..connections {
            let client = self.connect().await?;
            workers.push(tokio::spawn(async move { work(&client, time).await }));
        }
        let mut latencies = histogram()?;
        let mut operations = 0;
        for worker in workers {
            let (count, own) = worker.await??;
            operations += count;
            latencies.add(own)?;
        }
        Ok(Run { operations, took: began.elapsed(), latencies })
    }
}

async fn work(
    client: &tokio_postgres::Client,
    time: Duration,
) -> Result<(u64, hdrhistogram::Histogram<u64>), Failure> {
    let claim = client
        .prepare(
            "update servers set allocation = gen_random_uuid() where id = (select id from servers \
             where allocation is null limit 1 for update skip locked) returning id",
        )
        .await?;
    let release = client.prepare("update servers set allocation = null where id = $1").await?;
    let mut latencies = histogram()?;
    let mut operations = 0;
    let began = Instant::now();
    while began.elapsed() < time {
        let asked = Instant::now();
        let row = client.query_one(&claim, &[]).await?;
        latencies.record(u64::try_from(asked.elapsed().as_micros())?)?;
        let id: i64 = row.get(0);
        let asked = Instant::now();
        client.execute(&release, &[&id]).await?;
        latencies.record(u64::try_from(asked.elapsed().as_micros())?)?;
        operations += 2;
    }
    Ok((operations, latencies))
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Nothing in it is wanted again; a server that is already gone is as good.
        let _gone = self.server.kill();
        let _reaped = self.server.wait();
    }
}

/// Debian keeps the server's programs outside PATH, one folder a version.
fn binaries() -> Result<PathBuf, Failure> {
    let missing = "no PostgreSQL here: apt-get install postgresql, or leave it out with --no-postgres";
    let versions = std::fs::read_dir("/usr/lib/postgresql").map_err(|_| missing)?;
    let mut found: Vec<PathBuf> = versions
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|folder| folder.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop().ok_or_else(|| missing.into())
}

/// PostgreSQL refuses root: as root it runs as the user that its package makes.
fn owner() -> Result<Option<(u32, u32)>, Failure> {
    use std::os::unix::fs::MetadataExt as _;
    if std::fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with("postgres:")).ok_or("there is no user postgres")?;
    let mut fields = line.split(':').skip(2);
    let mut next =
        || fields.next().and_then(|field| field.parse().ok()).ok_or("/etc/passwd: postgres has no ids");
    Ok(Some((next()?, next()?)))
}

fn as_owner(owner: Option<(u32, u32)>, program: &Path) -> Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(program);
    if let Some((uid, gid)) = owner {
        command.uid(uid).gid(gid);
    }
    command
}
