//! An operator at work until the power goes: files of a build come in pieces and become versions, a build configuration changes,
//! service accounts and join tokens come and go, and so does a player who looks for a match. After a cut, what is found of it.

use std::thread::sleep;

use mainstay_lab::words::{Asked, FILE_BYTES, Job, PIECE_BYTES, SeenFile, SeenWork, Word};
use serde_json::{Value, json};

use crate::power::{Random, THINKS, acknowledged};
use crate::product::Product;
use crate::wire;

/// The build that is uploaded, and the build configuration that changes; no fleet has them.
const NAME: &str = "uploaded";

/// The queue, and who waits in it for a second player, who never comes: for a day, the longest that there is.
const QUEUE: &str = "/v1/queues/lab";
const WAITS_SECONDS: u32 = 86_400;

/// An operator.
pub struct Office<'a> {
    product: &'a Product,
    build: u64,
    configuration: u64,
}

impl<'a> Office<'a> {
    /// Finds the build and the build configuration, and makes those that are not there.
    pub fn open(product: &'a Product) -> Self {
        let id_of = |area: &str, key: &str| {
            let listed = product.get(&product.admin(area, &format!("/{area}")));
            let all = listed.as_array().expect("a list").clone();
            all.iter().find(|one| one[key] == NAME).cloned()
        };
        let made = |area: &str, body: &Value| made(product, &product.admin(area, &format!("/{area}")), body);
        let build = id_of("builds", "buildName")
            .unwrap_or_else(|| made("builds", &json!({ "buildName": NAME, "buildType": "FILE_UPLOAD" })));
        let build = build["buildID"].as_u64().expect("a number");
        let configuration = id_of("build-configurations", "name")
            .unwrap_or_else(|| made("build-configurations", &configuration(build, "first")));
        product.put(QUEUE, &json!({ "name": "lab", "minMatchSize": 2, "maxMatchSize": 2 }));
        Self { product, build, configuration: configuration["id"].as_u64().expect("a number") }
    }

    fn of_build(&self, rest: &str) -> String {
        self.product.admin("builds", &format!("/builds/{}{rest}", self.build))
    }

    fn of_configuration(&self) -> String {
        self.product.admin("build-configurations", &format!("/build-configurations/{}", self.configuration))
    }

    /// What stands of it; `account` is the one that was made last.
    pub fn work(&self, account: Option<&str>) -> SeenWork {
        let files = self.product.get(&self.of_build("/files?limit=1000"));
        let files = files["results"].as_array().expect("a list").iter().map(|file| {
            let path = file["path"].as_str().expect("a path").to_owned();
            let whole = file["uploaded"] == true;
            let come = if whole { FILE_BYTES } else { self.product.come(&self.link(&path)) };
            SeenFile { path, come, whole }
        });
        let names = |path: &str, key: &str, is: &dyn Fn(&Value) -> bool| -> Vec<String> {
            let page = self.product.get(path);
            let items = page["items"].as_array().expect("a page").iter().filter(|item| is(item));
            items.map(|item| item[key].as_str().expect("a name").to_owned()).collect()
        };
        let is_another = |item: &Value| item["keyId"] != *self.product.own_account;
        let configuration = self.product.get(&self.of_configuration());
        SeenWork {
            files: files.collect(),
            version: self.version(),
            command_line: configuration["commandLine"].as_str().expect("a text").to_owned(),
            accounts: names("/v1/service-accounts?limit=1000", "keyId", &is_another),
            account_may_ask: account.map(|account| self.product.may_ask(account)),
            tokens: names("/v1/join-tokens?limit=1000", "id", &|item| item["state"] == "open"),
            tickets: names(&tickets("?limit=1000"), "id", &|item| item["status"] == "WaitingForMatch"),
        }
    }

    /// The build's newest version, each of whose files has the bytes that were sent.
    fn version(&self) -> u64 {
        let version = self.product.get(&self.of_build(""))["cfv"].as_u64().expect("a number");
        if version == 0 {
            return version;
        }
        let all = self.product.get("/v1/configuration");
        let build = all["builds"].as_array().expect("a list").iter().find(|build| build["name"] == NAME);
        let folder = build.and_then(|build| build["folder"].as_str()).expect("a folder");
        for file in std::fs::read_dir(folder)
            .unwrap_or_else(|error| panic!("a version is not what was promised: {error}"))
        {
            let file = file.expect("a file").path();
            let path = file.file_name().and_then(|name| name.to_str()).expect("a name");
            let bytes = std::fs::read(&file).expect("its bytes");
            assert!(
                bytes == content(path),
                "a version's {path} is not what was promised: {} bytes",
                bytes.len()
            );
        }
        version
    }

    fn link(&self, path: &str) -> String {
        let told = self.product.put(&self.of_build("/files"), &json!({ "path": path }));
        let told: Value = serde_json::from_str(&told).expect("JSON");
        told["signedUrl"].as_str().expect("a link").to_owned()
    }

    /// Says what is asked before and after it is.
    fn ask<T>(
        &self,
        job: Job,
        id: &str,
        ask: impl FnOnce() -> T,
        told: impl FnOnce(&T) -> Option<String>,
    ) -> T {
        let asked = Asked::Work(job);
        wire::say(&Word::Asking { asked, id: id.to_owned() });
        let answer = ask();
        acknowledged(asked, id.to_owned(), told(&answer));
        sleep(THINKS);
        answer
    }

    /// Ends the uploads that a cut broke off. Then another file comes, all files are the next version, and the file before goes.
    pub fn upload(&self, boot: u32, stands: &SeenWork) {
        let mut files: Vec<String> = stands.files.iter().map(|file| file.path.clone()).collect();
        for file in stands.files.iter().filter(|file| !file.whole) {
            self.send(&self.link(&file.path), &file.path, file.come);
        }
        for count in 0_u64.. {
            let path = format!("{boot}-{count}");
            let link = self.ask(Job::Name, &path, || self.link(&path), |_| None);
            self.send(&link, &path, 0);
            files.push(path);
            let publish = || {
                self.product.post(&self.of_build("/versions"), &json!({}));
                self.version()
            };
            self.ask(Job::Publish, "", publish, |version| Some(version.to_string()));
            let before = files.remove(0);
            let gone = self.of_build(&format!("/files/{before}"));
            self.ask(Job::Remove, &before, || self.product.delete(&gone), |()| None);
        }
    }

    /// Sends what is missing of a file. Where all its bytes had come and the cut met what makes them the file, a piece of none
    /// ends it.
    fn send(&self, link: &str, path: &str, come: u64) {
        let content = content(path);
        let mut from = come;
        loop {
            let to = (from + PIECE_BYTES).min(FILE_BYTES);
            let range = if from == to {
                format!("bytes */{FILE_BYTES}")
            } else {
                format!("bytes {from}-{}/{FILE_BYTES}", to - 1)
            };
            let place = |at: u64| usize::try_from(at).expect("a small number");
            let piece = &content[place(from)..place(to)];
            let send = || self.product.send(link, &range, piece);
            self.ask(Job::Send, &format!("{path}/{to}"), send, |()| None);
            from = to;
            if from == FILE_BYTES {
                break;
            }
        }
    }

    /// Gives the build configuration another command line, again and again.
    pub fn change(&self, boot: u32) {
        for count in 0_u64.. {
            let line = format!("{boot}-{count}");
            let body = configuration(self.build, &line);
            self.ask(Job::Change, &line, || self.product.put(&self.of_configuration(), &body), |_| None);
        }
    }

    /// Makes a service account and takes it back, again and again.
    pub fn admit(&self, stands: &SeenWork) {
        let mut key = stands.accounts.first().cloned();
        loop {
            key = match key {
                Some(key) => {
                    let path = format!("/v1/service-accounts/{key}");
                    self.ask(Job::Revoke, &key, || self.product.delete(&path), |()| None);
                    None
                }
                None => {
                    let make = || made(self.product, "/v1/service-accounts", &json!({ "role": "viewer" }));
                    let pair = |made: &Value| {
                        Some(format!("{}:{}", made["keyId"].as_str()?, made["secretKey"].as_str()?))
                    };
                    self.ask(Job::Admit, "", make, pair)["keyId"].as_str().map(str::to_owned)
                }
            };
        }
    }

    /// The same for join tokens.
    pub fn invite(&self, stands: &SeenWork) {
        let make = || made(self.product, "/v1/join-tokens", &json!({}));
        self.comes_and_goes((Job::Invite, Job::Withdraw), stands.tokens.first(), make, |id| {
            format!("/v1/join-tokens/{id}")
        });
    }

    /// And for the ticket of a player.
    pub fn search(&self, stands: &SeenWork) {
        let asked = json!({ "players": [{ "player": "ann" }], "giveUpAfterSeconds": WAITS_SECONDS });
        let make = || made(self.product, &tickets(""), &asked);
        self.comes_and_goes((Job::Search, Job::Cancel), stands.tickets.first(), make, |id| {
            tickets(&format!("/{id}"))
        });
    }

    fn comes_and_goes(
        &self,
        (comes, goes): (Job, Job),
        stands: Option<&String>,
        make: impl Fn() -> Value,
        path: impl Fn(&str) -> String,
    ) {
        let mut id = stands.cloned();
        loop {
            id = match id {
                Some(id) => {
                    self.ask(goes, &id, || self.product.delete(&path(&id)), |()| None);
                    None
                }
                None => {
                    let told = |made: &Value| made["id"].as_str().map(str::to_owned);
                    self.ask(comes, "", &make, told)["id"].as_str().map(str::to_owned)
                }
            };
        }
    }
}

fn tickets(rest: &str) -> String {
    format!("{QUEUE}/tickets{rest}")
}

fn made(product: &Product, path: &str, body: &Value) -> Value {
    serde_json::from_str(&product.post(path, body)).expect("JSON")
}

fn configuration(build: u64, line: &str) -> Value {
    json!({ "name": NAME, "buildID": build, "queryType": "none", "binaryPath": "game", "commandLine": line, "memory": 64 })
}

/// The bytes of a file, of its path.
fn content(path: &str) -> Vec<u8> {
    let seed = path.bytes().fold(0, |seed: u64, byte| (seed << 8) ^ seed.rotate_left(21) ^ u64::from(byte));
    let mut random = Random(seed);
    (0..FILE_BYTES).map(|_| random.next().to_le_bytes()[0]).collect()
}
