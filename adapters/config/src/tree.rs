//! YAML text to a tree that knows the place of every node. Values stay text: the schema, not YAML's guesses, decides
//! what is a number, so `version: 1.0` and `version: "1.0"` read alike and no name turns into a boolean. The events
//! come from the parser under serde-saphyr; its serde layer stops at the first error and forgets how a scalar was
//! written, which is why it is not used here.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, options};

use crate::codes::Code;
use crate::limits::{DEPTH_MAX, NODES_MAX};
use crate::place::{Place, SourceText, Sources};
use crate::problem::Problem;

/// A YAML node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Nothing was written (or `~`, `null`).
    Null,
    /// One value, as text with quotes and escapes resolved.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order written; keys may repeat.
    Map(Vec<(Node, Node)>),
}

impl Value {
    /// The name of the kind, for sentences.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Scalar(_) => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

/// Parses one file that holds at most one document. An empty file is `Null`.
pub(crate) fn parse(sources: &Sources, source: &SourceText) -> Result<Node, Box<Problem>> {
    // Past our own limit, so that ours answers with its code; the parser's only bounds what it buffers ahead.
    let settings = options! {
        emit_comments: false,
        block_nesting_limit: DEPTH_MAX + 8,
        flow_nesting_limit: DEPTH_MAX + 8,
    };
    let mut builder = Builder::new(sources, source);
    for event in Parser::new_from_str_with_options(&source.text, settings) {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => {
                let marker = error.marker();
                let place = source.place(as_u32(marker.line()), as_u32(marker.col() + 1), 1);
                return Err(Box::new(syntax(sources, &place, error.info())));
            }
        }
    }
    Ok(builder.finish())
}

fn syntax(sources: &Sources, place: &Place, reason: String) -> Problem {
    Problem::new(Code::Syntax, format!("{} is not valid YAML", place.file))
        .at(sources, place, "reading stopped here")
        .why(reason)
        .why("later problems of this file show once this one is mended")
        .fix("mend the YAML at this place; quote values that contain ': ' or ' #', and indent with spaces")
}

/// The keys that lead to the first places of problems.
pub(crate) struct Paths<'p>(BTreeMap<&'p Place, Vec<String>>);

impl<'p> Paths<'p> {
    /// Finds them in what was read.
    pub(crate) fn find(problems: &'p [Problem], roots: &[Node]) -> Self {
        let places = problems.iter().filter_map(|problem| problem.marks.first());
        let mut paths = Self(places.map(|mark| (&mark.place, Vec::new())).collect());
        if !paths.0.is_empty() {
            roots.iter().for_each(|root| paths.walk(root, &mut Vec::new()));
        }
        paths
    }

    /// What is deeper comes later: a block's first key is written where the block begins.
    fn walk(&mut self, node: &Node, path: &mut Vec<String>) {
        self.note(&node.place, path);
        match &node.value {
            Value::Null | Value::Scalar(_) => {}
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(format!("[{index}]"));
                    self.walk(item, path);
                    path.pop();
                }
            }
            Value::Map(entries) => {
                for (key, value) in entries {
                    path.push(match &key.value {
                        Value::Scalar(name) => name.clone(),
                        Value::Null | Value::List(_) | Value::Map(_) => String::new(),
                    });
                    self.note(&key.place, path);
                    self.walk(value, path);
                    path.pop();
                }
            }
        }
    }

    fn note(&mut self, place: &Place, path: &[String]) {
        if let Some(found) = self.0.get_mut(place) {
            *found = path.to_vec();
        }
    }

    /// Those of each problem, in their order.
    pub(crate) fn each(self, problems: &[Problem]) -> Vec<Vec<String>> {
        let path = |problem: &Problem| Some(self.0.get(&problem.marks.first()?.place)?.clone());
        problems.iter().map(|problem| path(problem).unwrap_or_default()).collect()
    }
}

enum Open {
    List { place: Place, anchor: usize, items: Vec<Node> },
    Map { place: Place, anchor: usize, key: Option<Node>, entries: Vec<(Node, Node)> },
}

struct Anchored {
    node: Node,
    nodes: usize,
    height: usize,
}

struct Builder<'a> {
    sources: &'a Sources,
    source: &'a SourceText,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
}

impl<'a> Builder<'a> {
    fn new(sources: &'a Sources, source: &'a SourceText) -> Self {
        Self {
            sources,
            source,
            open: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            documents: 0,
            root: None,
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Problem>> {
        let place = self.place(span);
        match event {
            Event::Scalar(text, style, anchor, _) => {
                self.count(&place, 1)?;
                let null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value = if null { Value::Null } else { Value::Scalar(text.into_owned()) };
                self.close(Node { place, value }, anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.deeper(&place, 1)?;
                self.open.push(Open::List { place, anchor, items: Vec::new() });
            }
            Event::MappingStart(_, anchor, _) => {
                self.deeper(&place, 1)?;
                self.open.push(Open::Map { place, anchor, key: None, entries: Vec::new() });
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { place, anchor, items }) => {
                    self.close(Node { place, value: Value::List(items) }, anchor)?;
                }
                Some(Open::Map { place, anchor, entries, .. }) => {
                    self.close(Node { place, value: Value::Map(entries) }, anchor)?;
                }
                None => {}
            },
            Event::Alias(id) => self.alias(place, id)?,
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let reason = "a file holds one document; `---` begins a second one".into();
                    return Err(Box::new(syntax(self.sources, &place, reason)));
                }
            }
            // Not asked for in the options, or without content.
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentEnd
            | Event::Anchor(..)
            | Event::UnresolvedAlias(_)
            | Event::Comment(..) => {}
            // The parser may grow presentation events; nodes are all above.
            _ => {}
        }
        Ok(())
    }

    fn place(&self, span: Span) -> Place {
        let length = if span.start.line() == span.end.line() { span.len() } else { usize::MAX };
        self.source.place(as_u32(span.start.line()), as_u32(span.start.col() + 1), as_u32(length))
    }

    fn count(&mut self, place: &Place, nodes: usize) -> Result<(), Box<Problem>> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        let problem = Problem::new(Code::TooBig, format!("{} has too many values", place.file))
            .at(self.sources, place, "the limit is reached here")
            .why(format!("more than {NODES_MAX} values, counting what aliases (`*name`) expand to"))
            .fix("split the file, or write fewer aliases of aliases");
        Err(Box::new(problem))
    }

    fn deeper(&mut self, place: &Place, levels: usize) -> Result<(), Box<Problem>> {
        self.count(place, 1)?;
        if self.open.len() + levels <= DEPTH_MAX {
            return Ok(());
        }
        let problem = Problem::new(Code::TooBig, format!("{} is nested too deeply", place.file))
            .at(self.sources, place, format!("level {}", self.open.len() + levels))
            .why(format!("the limit is {DEPTH_MAX} levels"))
            .fix("flatten it");
        Err(Box::new(problem))
    }

    fn alias(&mut self, place: Place, id: usize) -> Result<(), Box<Problem>> {
        let Some(anchored) = self.anchors.get(&id) else {
            let reason = "an alias inside the value it names would never end".into();
            return Err(Box::new(syntax(self.sources, &place, reason)));
        };
        let (nodes, height) = (anchored.nodes, anchored.height);
        self.count(&place, nodes)?;
        self.deeper(&place, height)?;
        if let Some(anchored) = self.anchors.get(&id) {
            let node = anchored.node.clone();
            self.close(node, 0)?;
        }
        Ok(())
    }

    /// A finished node goes to its parent, and to the anchors if it is named; that copy counts as well, or nested
    /// anchors would multiply a long list by the depth.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), Box<Problem>> {
        if anchor != 0 {
            let (nodes, height) = measure(&node);
            self.count(&node.place, nodes)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, height });
        }
        match self.open.last_mut() {
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { key, entries, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node),
            },
            None => self.root = Some(node),
        }
        Ok(())
    }

    fn finish(self) -> Node {
        let place = self.source.place(1, 1, 1);
        self.root.unwrap_or(Node { place, value: Value::Null })
    }
}

/// Nodes in a tree, and its height; the depth limit bounds the recursion.
fn measure(node: &Node) -> (usize, usize) {
    let grow = |(nodes, height): (usize, usize), child: &Node| {
        let (more, deep) = measure(child);
        (nodes + more, height.max(deep))
    };
    match &node.value {
        Value::Null | Value::Scalar(_) => (1, 0),
        Value::List(items) => {
            let (nodes, height) = items.iter().fold((1, 0), grow);
            (nodes, height + 1)
        }
        Value::Map(entries) => {
            let (nodes, height) =
                entries.iter().fold((1, 0), |sum, (key, value)| grow(grow(sum, key), value));
            (nodes, height + 1)
        }
    }
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
