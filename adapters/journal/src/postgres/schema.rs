//! The tables in PostgreSQL, in whatever schema the connection's `search_path` names.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

/// The newest format this program reads and writes.
pub(super) const FORMAT: i32 = 1;
/// Nodes that make the tables at the same moment collide in the server's own catalogue; one of them wins.
const CREATE_TRIES_MAX: u32 = 5;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS journal_meta (
        id     integer PRIMARY KEY CHECK (id = 1),
        format integer NOT NULL
    );
    CREATE TABLE IF NOT EXISTS journal_nodes (
        name        text PRIMARY KEY,
        incarnation bigint NOT NULL,
        life        text NOT NULL CHECK (life IN ('alive', 'dead')),
        lease_until timestamptz NOT NULL
    );
    CREATE TABLE IF NOT EXISTS journal_shards (
        number            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name              text NOT NULL UNIQUE,
        owner             text,
        owner_incarnation bigint,
        epoch             bigint NOT NULL,
        next              bigint NOT NULL,
        last_at           bigint NOT NULL,
        sum               bigint NOT NULL,
        oldest            bigint NOT NULL,
        oldest_sum        bigint NOT NULL,
        snap_below        bigint,
        snap_at           bigint,
        snap_chunks       bigint,
        snap_sum          bigint
    );
    CREATE TABLE IF NOT EXISTS journal_turns (
        shard integer NOT NULL REFERENCES journal_shards (number),
        first bigint NOT NULL,
        count bigint NOT NULL,
        epoch bigint NOT NULL,
        at    bigint NOT NULL,
        sum   bigint NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (shard, first)
    );
    CREATE TABLE IF NOT EXISTS journal_chunks (
        shard integer NOT NULL REFERENCES journal_shards (number),
        below bigint NOT NULL,
        part  bigint NOT NULL,
        sum   bigint NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (shard, below, part)
    );
    INSERT INTO journal_meta (id, format) VALUES (1, 1) ON CONFLICT DO NOTHING;
";

/// Makes what is missing and returns the format that is there.
pub(super) async fn prepare(client: &Client) -> Result<i32, Error> {
    let mut tries = 1;
    while let Err(error) = client.batch_execute(TABLES).await {
        let collided = error.code().is_some_and(|code| {
            [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::T_R_DEADLOCK_DETECTED]
                .contains(code)
        });
        if !collided || tries >= CREATE_TRIES_MAX {
            return Err(error);
        }
        tries += 1;
    }
    Ok(client.query_one("SELECT format FROM journal_meta WHERE id = 1", &[]).await?.get(0))
}
