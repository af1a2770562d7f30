//! A caller of the Multiplay allocation API who knows what its public documentation says and nothing else.

use serde_json::{Value, json};

/// An answer: status, our error code's header, body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub code: Option<String>,
    /// In how many seconds to ask again.
    pub retry_after: Option<u64>,
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// How a caller says who it is.
#[derive(Debug, Clone)]
pub enum Credentials {
    Nothing,
    Basic { key: String, secret: String },
    Bearer(String),
}

/// A caller with an address and credentials.
#[derive(Debug, Clone)]
pub struct Caller {
    agent: ureq::Agent,
    pub api: String,
    pub project: String,
    pub environment: String,
    pub credentials: Credentials,
}

impl Caller {
    /// From `ports.json` and `credentials.json`.
    #[track_caller]
    pub fn new(ports: &Value, credentials: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(std::time::Duration::from_secs(30)))
            .build()
            .new_agent();
        Self {
            agent,
            api: text(&ports["api"]).trim_end_matches('/').to_owned(),
            project: text(&credentials["projectId"]),
            environment: text(&credentials["environmentId"]),
            credentials: Credentials::Basic {
                key: text(&credentials["keyId"]),
                secret: text(&credentials["secretKey"]),
            },
        }
    }

    /// The same caller under other credentials.
    pub fn with(&self, credentials: Credentials) -> Self {
        Self { credentials, ..self.clone() }
    }

    /// Where a fleet's allocations are.
    pub fn allocations(&self, fleet: &str) -> String {
        format!(
            "/v1/allocations/projects/{}/environments/{}/fleets/{fleet}/allocations",
            self.project, self.environment
        )
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        let mut request = self.agent.get(format!("{}{path}", self.api));
        if let Some(value) = self.authorization() {
            request = request.header("Authorization", value);
        }
        answer(request.call().unwrap())
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        let mut request = self.agent.delete(format!("{}{path}", self.api));
        if let Some(value) = self.authorization() {
            request = request.header("Authorization", value);
        }
        answer(request.call().unwrap())
    }

    /// Sends bytes as they are, JSON or not.
    #[track_caller]
    pub fn post(&self, path: &str, body: &[u8]) -> Answer {
        let mut request =
            self.agent.post(format!("{}{path}", self.api)).header("Content-Type", "application/json");
        if let Some(value) = self.authorization() {
            request = request.header("Authorization", value);
        }
        answer(request.send(body).unwrap())
    }

    /// Sends JSON.
    #[track_caller]
    pub fn send(&self, path: &str, body: &Value) -> Answer {
        self.post(path, body.to_string().as_bytes())
    }

    /// Sends JSON that is safe to send again.
    #[track_caller]
    pub fn send_keyed(&self, path: &str, key: &str, body: &Value) -> Answer {
        let request =
            self.agent.post(format!("{}{path}", self.api)).header("Content-Type", "application/json");
        let mut request = request.header("Idempotency-Key", key);
        if let Some(value) = self.authorization() {
            request = request.header("Authorization", value);
        }
        answer(request.send(body.to_string()).unwrap())
    }

    /// PUT of bytes to a path, or to a whole URL without credentials: a signed one carries its own.
    #[track_caller]
    pub fn put(&self, place: &str, body: &[u8]) -> Answer {
        let signed = place.starts_with("http://");
        let url = if signed { place.to_owned() } else { format!("{}{place}", self.api) };
        let mut request = self.agent.put(url);
        if let Some(value) = self.authorization().filter(|_| !signed) {
            request = request.header("Authorization", value);
        }
        answer(request.send(body).unwrap())
    }

    /// Asks for a server.
    #[track_caller]
    pub fn allocate(&self, fleet: &Fleet, allocation: &str) -> Answer {
        let body = json!({
            "allocationId": allocation,
            "buildConfigurationId": fleet.configuration,
            "regionId": fleet.region,
        });
        self.post(&self.allocations(&fleet.id), body.to_string().as_bytes())
    }

    /// One allocation.
    #[track_caller]
    pub fn allocation(&self, fleet: &Fleet, allocation: &str) -> Answer {
        self.get(&format!("{}/{allocation}", self.allocations(&fleet.id)))
    }

    /// The allocation once players could be sent to it, read as the stock adapter reads it.
    #[track_caller]
    pub fn fulfilled(&self, fleet: &Fleet, allocation: &str) -> Value {
        crate::product::until(&format!("allocation {allocation} is fulfilled"), || {
            let answer = self.allocation(fleet, allocation);
            assert_eq!(answer.status, 200, "{answer:?}");
            let seen = answer.json();
            let date = |name: &str| seen[name].as_str().is_some_and(|text| !text.is_empty());
            let is_ready = date("fulfilled")
                && (seen["readiness"] != true || date("ready"))
                && seen["ipv4"].as_str().is_some_and(|ip| !ip.is_empty())
                && seen["gamePort"].as_u64().is_some_and(|port| port != 0);
            is_ready.then_some(seen)
        })
    }

    fn authorization(&self) -> Option<String> {
        use base64::Engine as _;
        match &self.credentials {
            Credentials::Nothing => None,
            Credentials::Basic { key, secret } => {
                let pair = base64::engine::general_purpose::STANDARD.encode(format!("{key}:{secret}"));
                Some(format!("Basic {pair}"))
            }
            Credentials::Bearer(token) => Some(format!("Bearer {token}")),
        }
    }
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (code, retry_after) = (header("mainstay-code"), header("retry-after").map(|it| it.parse().unwrap()));
    let status = response.status().as_u16();
    Answer { status, code, retry_after, text: response.body_mut().read_to_string().unwrap() }
}

/// A fleet's first build configuration and region: what an allocation names.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub id: String,
    pub configuration: i64,
    pub region: String,
}

impl Fleet {
    /// From `fleet get -o json`.
    #[track_caller]
    pub fn from(seen: &Value) -> Self {
        Self {
            id: seen["id"].as_str().unwrap().to_owned(),
            configuration: seen["buildConfigurations"][0]["id"].as_i64().unwrap(),
            region: seen["regions"][0]["id"].as_str().unwrap().to_owned(),
        }
    }
}

/// A caller's id for a session.
pub fn new_id() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).unwrap();
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
