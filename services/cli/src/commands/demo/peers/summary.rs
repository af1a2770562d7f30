//! A move in three lines, for people: who took over, the gap, what was lost.

use mainstay_tugboat::peers::crew::text;
use serde_json::Value;

use super::short;

/// What [`super::facts`] has of a move. Whatever no player told is said to be unknown.
pub fn words(moved: &Value) -> String {
    let lost = match moved["ackedLost"].as_u64() {
        Some(0) => "nothing that they had been told was safe is lost".to_owned(),
        Some(lost) => format!("{lost} ticks and deeds that they had been told were safe are lost"),
        None => "none of them told whether anything is lost that they had been told was safe".to_owned(),
    };
    let gap = match moved["gapMs"].as_u64() {
        Some(ms) => {
            format!(
                "{ms} ms from the old host's last state to the new one's first, on the player who waited longest"
            )
        }
        None => "none of them told how long it was from the old host's last state to the new one's first"
            .to_owned(),
    };
    format!(
        "{} took over from {} ({}, epoch {}{})\n          {gap}\n          {} of {} players play on; {lost}",
        short(&text(moved, "newHost")),
        short(&text(moved, "oldHost")),
        text(moved, "cause"),
        moved["epoch"],
        if moved["fork"].as_u64() > Some(0) { ", unconfirmed" } else { "" },
        moved["peersKept"],
        moved["peers"],
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Issue 5: "after each move a three-line summary: who took over, the gap, what was lost (nothing)".
    #[test]
    fn a_move_is_three_lines() {
        let mut moved = json!({
            "newHost": "1111111122222222", "oldHost": "3333333344444444", "cause": "catastrophic", "epoch": 2, "fork": 0,
            "gapMs": 987, "peers": 8, "peersKept": 7, "ackedLost": 0,
        });
        let lines =
            |moved: &Value| words(moved).lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            lines(&moved),
            [
                "11111111 took over from 33333333 (catastrophic, epoch 2)",
                "987 ms from the old host's last state to the new one's first, on the player who waited longest",
                "7 of 8 players play on; nothing that they had been told was safe is lost",
            ]
        );

        moved["fork"] = json!(1);
        moved["ackedLost"] = json!(3);
        moved["gapMs"] = Value::Null;
        assert_eq!(
            lines(&moved),
            [
                "11111111 took over from 33333333 (catastrophic, epoch 2, unconfirmed)",
                "none of them told how long it was from the old host's last state to the new one's first",
                "7 of 8 players play on; 3 ticks and deeds that they had been told were safe are lost",
            ]
        );

        moved["ackedLost"] = Value::Null;
        assert!(
            lines(&moved)[2]
                .ends_with("none of them told whether anything is lost that they had been told was safe")
        );
    }
}
