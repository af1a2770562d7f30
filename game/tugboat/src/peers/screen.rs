//! The game as a person plays it: the harbour in a terminal, who is host, and what has happened.
//!
//! The seed's two display toggles are drawn here: `HOST`, `ANTICIPATED NEW HOST` or `MEMBER` while
//! `net_show_host_identificiation` is on, and the hint list while `net_show_new_host_hinting` is.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use mainstay_peer::Shown;
use mainstay_peer::migration::{Identification, PeerId, Standing};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::canvas::{Canvas, Circle, Line as Stroke};
use ratatui::widgets::{Block, List, Paragraph};
use ratatui::{DefaultTerminal, Frame};
use serde_json::Value;

use crate::peers::harbour::Harbour;
use crate::world::{Boat, HARBOUR, Helm, METRE};

/// How many lines of news are kept.
const NEWS_MAX: usize = 100;
/// The longest console line, in characters.
const TYPED_MAX: usize = 200;
/// One press of a key moves a lever by so much.
const LEVER: i8 = 32;
/// How wide the list of who is what is, in columns.
const WHO_COLUMNS: u16 = 44;
/// How high it is where it stands below the water, in lines: its three, an unconfirmed host, and the frame.
const WHO_LINES: u16 = 6;
/// What the title above the water takes, in columns: `ANTICIPATED NEW HOST` and the frame.
const TITLE_COLUMNS: u16 = 24;
/// What a person can do, the way out first.
const KEYS: [&str; 4] = [
    "q leaves",
    "arrows steer",
    "space rudder amidships",
    ": console (set NAME VALUE, gather, begin, give-over)",
];
/// How long a boat is drawn, in metres.
const BOAT_LENGTH: f64 = 8.0;

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// The levers are moved.
    Steers(Helm),
    /// A line of the console is entered.
    Line(String),
    /// Nothing beyond the screen.
    Nothing,
}

/// What of the game is drawn.
pub(crate) struct Scene<'a> {
    pub harbour: &'a Harbour,
    pub me: PeerId,
    /// `None` before the session is entered.
    pub shown: Option<&'a Shown>,
}

/// A terminal that the game is drawn in. Dropped, the terminal is as it was.
pub(crate) struct Screen {
    terminal: DefaultTerminal,
    desk: Desk,
}

/// What a person has at hand: levers, a console line, the news.
#[derive(Debug, Default)]
struct Desk {
    helm: Helm,
    typed: Option<String>,
    news: VecDeque<String>,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()?, desk: Desk::default() })
    }

    /// Something happened.
    pub(crate) fn tell(&mut self, news: String) {
        self.desk.tell(news);
    }

    /// A key was pressed.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Pressed {
        self.desk.press(key)
    }

    /// Draws the game as it is.
    pub(crate) fn draw(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        let Self { terminal, desk } = self;
        terminal.draw(|frame| desk.draw(frame, scene)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// From where a session can be joined that is, if not from everywhere.
fn reach(facts: &Value) -> &'static str {
    let field = |name: &str| facts[name].as_str().unwrap_or_default();
    let is_loopback = field("address").parse().is_ok_and(|address: SocketAddr| address.ip().is_loopback());
    if is_loopback && field("joinedBy").contains("--via") { " (on this machine alone)" } else { "" }
}

/// A fact in the words of a person; `None` for what only programs want to know.
pub(crate) fn sentence(facts: &Value) -> Option<String> {
    let word = |field: &str| facts[field].as_str().unwrap_or_default().to_owned();
    let peer = |field: &str| word(field).chars().take(8).collect::<String>();
    Some(match facts["event"].as_str()? {
        "started" => format!("joined by: {}{}", word("joinedBy"), reach(facts)),
        "entered" => "you are in".to_owned(),
        "leads" => format!("you are host (epoch {})", facts["epoch"]),
        "follows" => format!("{} is host (epoch {})", peer("host"), facts["epoch"]),
        "gone" => format!("{} is gone", peer("peer")),
        "moved" => format!(
            "moved after a {}: {} is host, gap {} ms, {} acknowledged lost",
            word("cause"),
            peer("newHost"),
            facts["gapMs"],
            facts["ackedLost"]
        ),
        "confirmed" => format!("confirmed (epoch {})", facts["epoch"]),
        "rewritten" => format!("{} rewrote what was played", peer("host")),
        "nobodyBetter" => "nobody would be a better host".to_owned(),
        "notTaken" | "notSet" | "notListed" | "notSaid" | "notHost" => format!("refused: {}", word("why")),
        "unknown" => format!("unknown: {}; there are {}", word("line"), word("commands")),
        "over" => format!("the session is over: {}", word("why")),
        _ => return None,
    })
}

impl Desk {
    fn tell(&mut self, news: String) {
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }

    fn press(&mut self, key: KeyEvent) -> Pressed {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Pressed::Line("leave".to_owned());
        }
        match self.typed.take() {
            Some(typed) => self.types(typed, key.code),
            None => self.steers(key.code),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "terminals have many more keys, and none is meant here"
    )]
    fn types(&mut self, mut typed: String, code: KeyCode) -> Pressed {
        match code {
            KeyCode::Enter => return Pressed::Line(typed),
            KeyCode::Esc => return Pressed::Nothing,
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(letter) if typed.chars().count() < TYPED_MAX => typed.push(letter),
            _ => {}
        }
        self.typed = Some(typed);
        Pressed::Nothing
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "terminals have many more keys, and none is meant here"
    )]
    fn steers(&mut self, code: KeyCode) -> Pressed {
        let Helm { throttle, rudder } = self.helm;
        self.helm = match code {
            KeyCode::Up => Helm { throttle: throttle.saturating_add(LEVER), rudder },
            KeyCode::Down => Helm { throttle: throttle.saturating_sub(LEVER), rudder },
            KeyCode::Left => Helm { throttle, rudder: rudder.saturating_add(LEVER) },
            KeyCode::Right => Helm { throttle, rudder: rudder.saturating_sub(LEVER) },
            KeyCode::Char(' ') => Helm { throttle, rudder: 0 },
            KeyCode::Char(':') => {
                self.typed = Some(String::new());
                return Pressed::Nothing;
            }
            KeyCode::Char('q') => return Pressed::Line("leave".to_owned()),
            _ => return Pressed::Nothing,
        };
        Pressed::Steers(self.helm)
    }

    fn draw(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        let columns = usize::from(frame.area().width);
        let typed = self.typed.as_ref().map(|typed| format!(":{typed}"));
        let bottom = match &typed {
            Some(typed) => wrapped(typed, columns).into_iter().map(Line::from).collect(),
            None => keys_named(columns),
        };
        let height = u16::try_from(bottom.len()).unwrap_or(u16::MAX);
        let [main, news, keys] =
            Layout::vertical([Constraint::Fill(2), Constraint::Fill(1), Constraint::Length(height)])
                .areas(frame.area());
        let [water, who] = if main.width < TITLE_COLUMNS + WHO_COLUMNS {
            Layout::vertical([Constraint::Fill(1), Constraint::Length(WHO_LINES)]).areas(main)
        } else {
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(WHO_COLUMNS)]).areas(main)
        };
        draw_water(frame, water, scene);
        frame.render_widget(List::new(standing(scene)).block(Block::bordered().title("session")), who);
        let [width, height] = [news.width, news.height].map(|it| usize::from(it.saturating_sub(2)));
        let lines: Vec<&str> = self.news.iter().flat_map(|it| wrapped(it, width)).collect();
        let last = lines[lines.len().saturating_sub(height)..].iter().copied();
        frame.render_widget(List::new(last).block(Block::bordered().title("what happened")), news);
        frame.render_widget(Paragraph::new(bottom), keys);
    }
}

/// All keys, in as many lines as that takes: each whole, where it is no longer than a line.
fn keys_named(columns: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<String> = Vec::new();
    for key in KEYS {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + key.chars().count() <= columns => {
                *line = format!("{line} · {key}");
            }
            Some(_) | None => lines.push(key.to_owned()),
        }
    }
    lines.iter().flat_map(|line| wrapped(line, columns)).map(|it| Line::from(it.to_owned())).collect()
}

/// A text as lines of so many columns, each broken at its last space, and within a word only where that is longer.
fn wrapped(text: &str, columns: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some((end, next)) = rest.char_indices().nth(columns.max(1)) {
        let (line, next) = match rest[..end + next.len_utf8()].rfind(' ') {
            Some(space) if space > 0 => (&rest[..space], &rest[space + 1..]),
            Some(_) | None => rest.split_at(end),
        };
        lines.push(line);
        rest = next;
    }
    lines.push(rest);
    lines
}

fn draw_water(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>) {
    let side = metres(HARBOUR);
    let own = scene.harbour.boat_of(scene.me);
    let world = scene.harbour.world();
    let title = match scene.shown.and_then(|shown| shown.identification) {
        Some(is) => Line::from(format!(" {} ", is.text())).style(colour(is)).bold(),
        None => Line::from(" tugboat "),
    };
    let canvas = Canvas::default()
        .block(Block::bordered().title(title))
        .marker(Marker::Braille)
        .x_bounds([0.0, side])
        .y_bounds([0.0, side])
        .paint(|ctx| {
            for buoy in world.buoys() {
                let (x, y) = (metres(buoy.x), metres(buoy.y));
                ctx.draw(&Circle { x, y, radius: 2.0, color: Color::Red });
            }
            for (id, boat) in world.boats() {
                let color = if Some(*id) == own { Color::Yellow } else { Color::White };
                ctx.draw(&hull(boat, color));
                let name = Line::from(format!("{} {}", id.0, boat.score)).style(color);
                ctx.print(metres(boat.at.x), metres(boat.at.y), name);
            }
        });
    frame.render_widget(canvas, area);
}

fn hull(boat: &Boat, color: Color) -> Stroke {
    let angle = f64::from(boat.heading) / 65_536.0 * std::f64::consts::TAU;
    let (x, y) = (metres(boat.at.x), metres(boat.at.y));
    let (ahead, aside) = (angle.cos() * BOAT_LENGTH, angle.sin() * BOAT_LENGTH);
    Stroke { x1: x, y1: y, x2: x + ahead, y2: y + aside, color }
}

/// Who is what in the session, a line each.
fn standing(scene: &Scene<'_>) -> Vec<Line<'static>> {
    let Some(shown) = scene.shown else { return vec![Line::from("looking for the session ...")] };
    let peer = |peer: PeerId| if peer == scene.me { "you".to_owned() } else { short(peer) };
    let stamp = shown.stamp;
    let mut lines = vec![
        Line::from(format!("host {} since epoch {}", peer(shown.leader), stamp.epoch.0)),
        Line::from(format!("next {}", shown.anticipated.map_or_else(|| "nobody yet".to_owned(), peer))),
        Line::from(format!("{} players, linked to {}", shown.members.len(), shown.linked)),
    ];
    if stamp.fork != 0 || shown.standing == Some(Standing::Unconfirmed) {
        lines.push(Line::from("unconfirmed: no majority is here").style(Color::Red));
    }
    if !shown.hints.is_empty() {
        lines.push(Line::from("hints: NAT, connections").bold());
    }
    lines.extend(shown.hints.iter().map(|(of, entry)| {
        let hint = entry.hint;
        Line::from(format!("  {} {:?}, {}", peer(*of), hint.nat, hint.connections))
    }));
    lines
}

/// The first eight digits of a peer's name: enough to tell apart the few of a session.
fn short(peer: PeerId) -> String {
    format!("{:032x}", peer.0).chars().take(8).collect()
}

const fn colour(is: Identification) -> Style {
    Style::new().fg(match is {
        Identification::Host => Color::Green,
        Identification::AnticipatedNewHost => Color::Yellow,
        Identification::Member => Color::White,
    })
}

fn metres(length: i32) -> f64 {
    f64::from(length) / f64::from(METRE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mainstay_peer::migration::{
        CanBeHost, ChannelId, Entry, Epoch, Hint, Level, Migratable, NatType, OrderName, Stamp, Terms, Tick,
        WithoutMajority,
    };
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn drawn(desk: &Desk, scene: &Scene<'_>) -> String {
        drawn_on((120, 30), desk, scene)
    }

    fn drawn_on((columns, lines): (u16, u16), desk: &Desk, scene: &Scene<'_>) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal.draw(|frame| desk.draw(frame, scene)).unwrap();
        terminal.backend().to_string()
    }

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    /// Of one who comes after its host.
    fn shown(me: PeerId) -> Shown {
        Shown {
            role: Identification::AnticipatedNewHost,
            identification: Some(Identification::AnticipatedNewHost),
            leader: PeerId(0x1234_5678 << 96),
            stamp: Stamp { epoch: Epoch(4), fork: 0 },
            standing: None,
            anticipated: Some(me),
            holds: Tick(0),
            handed_on: 0,
            nat: NatType::Unknown,
            terms: Terms {
                order: OrderName::Documented,
                migratable: Migratable::Yes,
                without_majority: WithoutMajority::Fork,
                level: Level::Asynchronous,
                size: 64,
            },
            members: vec![],
            actors: BTreeMap::new(),
            voters: 0,
            linked: 0,
            relayed: 0,
            hints: vec![],
        }
    }

    #[test]
    fn who_is_host_is_drawn_while_the_toggle_is_on() {
        let me = PeerId(0xabcd_0000 << 96);
        let mut harbour = Harbour::new(3);
        harbour.board(me);
        harbour.step();
        let mut shown = shown(me);
        let desk = Desk::default();
        let text = drawn(&desk, &Scene { harbour: &harbour, me, shown: Some(&shown) });
        for words in ["ANTICIPATED NEW HOST", "host 12345678 since epoch 4", "next you", "1 0"] {
            assert!(text.contains(words), "{words} in\n{text}");
        }
        shown.identification = None;
        assert!(!drawn(&desk, &Scene { harbour: &harbour, me, shown: Some(&shown) }).contains("ANTICIPATED"));
        assert!(
            drawn(&desk, &Scene { harbour: &harbour, me, shown: None }).contains("looking for the session")
        );
    }

    /// Also on a narrow terminal: who is host, and each key, the way out first.
    #[test]
    fn a_narrow_terminal_shows_who_is_host_and_each_key() {
        let me = PeerId(0xabcd_0000 << 96);
        let harbour = Harbour::new(3);
        let mut shown = shown(me);
        for columns in [40, 50, 60, 67, 68, 80] {
            for is in [Identification::Host, Identification::AnticipatedNewHost, Identification::Member] {
                shown.identification = Some(is);
                let scene = Scene { harbour: &harbour, me, shown: Some(&shown) };
                let text = drawn_on((columns, 24), &Desk::default(), &scene);
                let keys = ["q leaves", "arrows steer", "space rudder amidships", ": console", "give-over)"];
                for words in [is.text(), "host 12345678 since epoch 4", "next you"].into_iter().chain(keys) {
                    assert!(text.contains(words), "{words} in\n{text}");
                }
            }
        }
    }

    #[test]
    fn the_list_of_hints_is_drawn_while_there_is_one() {
        let (me, other) = (PeerId(0xabcd_0000 << 96), PeerId(0x1234_5678 << 96));
        let harbour = Harbour::new(3);
        let mut shown = shown(me);
        let listed = |shown: &Shown| {
            let text = drawn(&Desk::default(), &Scene { harbour: &harbour, me, shown: Some(shown) });
            ["hints: NAT, connections", "12345678 Strict, 7"].map(|words| text.contains(words))
        };
        assert_eq!(listed(&shown), [false, false]);
        let hint = Hint {
            can_be_host: CanBeHost::Yes,
            nat: NatType::Strict,
            connections: 7,
            ping_ms: 40,
            upstream_bps: 0,
        };
        let channel = ChannelId { stamp: shown.stamp, number: 1 };
        shown.hints = vec![(other, Entry { channel, hint })];
        assert_eq!(listed(&shown), [true, true]);
    }

    #[test]
    fn what_a_lobby_or_a_level_refuses_is_a_sentence_too() {
        for event in ["notTaken", "notSet", "notListed", "notSaid", "notHost"] {
            let facts = serde_json::json!({ "event": event, "why": "too much" });
            assert_eq!(sentence(&facts).as_deref(), Some("refused: too much"), "{event}");
        }
    }

    #[test]
    fn keys_steer_and_lines_are_entered() {
        let mut desk = Desk::default();
        let full = (0..9).map(|_| desk.press(key(KeyCode::Up))).last();
        assert_eq!(full, Some(Pressed::Steers(Helm { throttle: 127, rudder: 0 })));
        assert_eq!(desk.press(key(KeyCode::Right)), Pressed::Steers(Helm { throttle: 127, rudder: -LEVER }));
        for letter in ":set x 1".chars() {
            assert_eq!(desk.press(key(KeyCode::Char(letter))), Pressed::Nothing);
        }
        assert_eq!(desk.press(key(KeyCode::Enter)), Pressed::Line("set x 1".to_owned()));
        desk.press(key(KeyCode::Char(':')));
        assert_eq!(desk.press(key(KeyCode::Esc)), Pressed::Nothing);
        assert_eq!(desk.press(key(KeyCode::Char('q'))), Pressed::Line("leave".to_owned()));
    }

    /// What a person types is longer than a terminal is wide, and is read as it is typed.
    #[test]
    fn a_long_line_of_the_console_is_wrapped() {
        let mut desk = Desk::default();
        let line = format!(":set net_migrate_timeout {}end", "1".repeat(70));
        line.chars().for_each(|letter| drop(desk.press(key(KeyCode::Char(letter)))));
        let scene = Scene { harbour: &Harbour::new(3), me: PeerId(1), shown: None };
        let text = drawn_on((80, 24), &desk, &scene);
        assert!(text.contains(":set net_migrate_timeout") && text.contains("1end"), "{text}");
    }

    /// How others join is not cut: it is longer than any terminal is wide.
    #[test]
    fn long_news_are_wrapped() {
        let mut desk = Desk::default();
        let session = "056c48c5ceb1967d72974aa1b2c3d4e5";
        let doors: String = (1..=9).map(|door| format!(" --via 192.168.100.{door}:40000")).collect();
        desk.tell(format!("joined by: --session {session}{doors}"));
        let text = drawn(&desk, &Scene { harbour: &Harbour::new(3), me: PeerId(1), shown: None });
        assert!(text.contains(session) && text.contains("192.168.100.9:40000"), "{text}");
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a long-word", 4), ["a", "long", "-wor", "d"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn the_newest_news_are_drawn() {
        let mut desk = Desk::default();
        (0..NEWS_MAX + 50).for_each(|number| desk.tell(format!("news {number}")));
        let text = drawn(&desk, &Scene { harbour: &Harbour::new(3), me: PeerId(1), shown: None });
        assert!(text.contains("news 149") && !text.contains("news 100"), "{text}");
        assert_eq!(desk.news.len(), NEWS_MAX);
    }
}
