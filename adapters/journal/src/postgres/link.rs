//! One connection, and the small runtime that drives it. The port is blocking; the client library is not.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls, Transaction};

use crate::error::Cause;

/// The longest one call may take: shorter than the lease, so that a leader learns of a silent server inside it.
const CALL_MAX: Duration = Duration::from_millis(1_500);
/// The longest a new connection may take.
const CONNECT_MAX: Duration = Duration::from_millis(1_500);

/// Whether there is a connection.
#[derive(Debug)]
enum State {
    Up { client: Client, driver: JoinHandle<()> },
    Down,
}

/// A connection that is made again when it is needed.
#[derive(Debug)]
pub(super) struct Link {
    config: Config,
    runtime: Runtime,
    state: State,
}

impl Link {
    /// A link that connects with its first call.
    pub(super) fn new(mut config: Config) -> std::io::Result<Self> {
        config.connect_timeout(CONNECT_MAX);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { config, runtime, state: State::Down })
    }

    /// What another link of the same kind is made from.
    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    /// Makes sure of a connection. Nothing of a call has been sent where this fails.
    pub(super) fn connect(&mut self) -> Result<(), Cause> {
        match &self.state {
            State::Up { client, .. } if !client.is_closed() => return Ok(()),
            State::Up { .. } | State::Down => self.drop_connection(),
        }
        let config = &self.config;
        let (client, driver) = self.runtime.block_on(async {
            let made = async {
                let (client, connection) = config.connect(NoTls).await?;
                let driver = tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "connection to PostgreSQL ended");
                    }
                });
                // A server may be set to answer before it syncs; this session must not.
                client.batch_execute("SET synchronous_commit = on").await?;
                Ok::<_, tokio_postgres::Error>((client, driver))
            };
            match tokio::time::timeout(CONNECT_MAX, made).await {
                Ok(made) => made.map_err(Cause::from),
                Err(elapsed) => Err(elapsed.into()),
            }
        })?;
        self.state = State::Up { client, driver };
        Ok(())
    }

    /// Runs a call on the connection. `None` where there is none or no answer came in time; the connection has ended then.
    pub(super) fn call<T>(&mut self, call: impl AsyncFnOnce(&mut Client) -> T) -> Option<T> {
        let State::Up { client, .. } = &mut self.state else { return None };
        let answer = self.runtime.block_on(async { tokio::time::timeout(CALL_MAX, call(client)).await }).ok();
        if answer.is_none() {
            self.drop_connection();
        }
        answer
    }

    /// Ends the connection; the next call makes a new one. The socket is closed before this returns, so that the server
    /// rolls back what is open and lets its locks go.
    pub(super) fn drop_connection(&mut self) {
        if let State::Up { client, driver } = std::mem::replace(&mut self.state, State::Down) {
            drop(client);
            driver.abort();
            let _aborted = self.runtime.block_on(driver);
        }
    }
}

/// Rolls back and waits for it. A dropped transaction only asks for its rollback, and the connection is driven by calls
/// alone: until the next one its locks would stay.
pub(super) async fn roll_back(transaction: Transaction<'_>) {
    if let Err(error) = transaction.rollback().await {
        tracing::debug!(%error, "no rollback; the server does it when the connection ends");
    }
}
