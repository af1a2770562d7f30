//! Where an instance elsewhere is, and whether the way there keeps what it carries to itself.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;
use ureq::http::uri::Scheme;

use crate::arguments::PlainHttp;
use crate::failure::{Exit, Failure};

/// The address of an API: `https://games.example:7420`, or with the path that a proxy gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUrl {
    text: String,
    way: Way,
}

/// How requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Over TLS.
    Tls,
    /// In the clear, on this host.
    Loopback,
    /// In the clear, past whoever is in between.
    Clear,
}

impl fmt::Display for ApiUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ApiUrl {
    /// Reads one; what `up` shows, which ends in `/v1`, as well. A name before an `@` is refused and not repeated: it may be a
    /// secret.
    pub fn read(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Err(Failure::new(Exit::Usage, "MS-U053", "this is no address of an instance's API")
                .why(why)
                .fix("write https://HOST:7420, as DIR/ports.json of the instance names it under listening"))
        };
        let Ok(uri) = text.parse::<Uri>() else { return wrong("it is no URL") };
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
            return wrong("it names no host, or does not begin with https://");
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return wrong("who asks is said by --token-file, not in a URL, which lists of processes show");
        }
        if uri.query().is_some() || text.contains('#') {
            return wrong("an address ends before ? and #");
        }
        let way = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => Way::Tls,
            Some(scheme) if *scheme == Scheme::HTTP && is_this_host(host) => Way::Loopback,
            Some(scheme) if *scheme == Scheme::HTTP => Way::Clear,
            Some(_) | None => return wrong("it begins neither with https:// nor with http://"),
        };
        let text = text.trim_end_matches('/');
        let text = text.strip_suffix("/v1").unwrap_or(text).trim_end_matches('/').to_owned();
        Ok(Self { text, way })
    }

    /// # Errors
    /// Where nothing keeps others from reading what is sent, and nobody said that they may.
    pub fn keeps_a_secret(&self, allowed: PlainHttp) -> Result<(), Failure> {
        match (self.way, allowed) {
            (Way::Tls | Way::Loopback, _) | (Way::Clear, PlainHttp::Anywhere) => Ok(()),
            (Way::Clear, PlainHttp::Loopback) => {
                let what = format!("{self} is not on this host, and the token would go there in the clear");
                Err(Failure::new(Exit::Usage, "MS-U054", what)
                    .why("everybody on the way could read it, and ask in its name")
                    .fix("write https://; or, on a network that is protected by other means, --plain-http anywhere"))
            }
        }
    }

    /// Whether a proxy between here and there sees nothing of what it carries.
    pub const fn is_sealed(&self) -> bool {
        matches!(self.way, Way::Tls)
    }

    /// Its host, as in a URL.
    pub fn host(&self) -> String {
        let uri = self.text.parse::<Uri>();
        uri.ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
    }
}

/// Whether a host's name leads to this very host, whoever is asked (RFC 6761, section 6.3).
fn is_this_host(host: &str) -> bool {
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    ip.map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_what_is_none_is_told_without_its_secrets() {
        for (text, kept) in [
            ("https://games.example:7420", "https://games.example:7420"),
            ("https://games.example/", "https://games.example"),
            ("http://127.0.0.1:7420/v1", "http://127.0.0.1:7420"),
            ("https://[2001:db8::1]:7420/mainstay/v1/", "https://[2001:db8::1]:7420/mainstay"),
        ] {
            assert_eq!(ApiUrl::read(text).unwrap().to_string(), kept);
        }
        let secret = "https://key:hunter2@games.example";
        for text in [
            "",
            "games.example:7420",
            "ftp://games.example",
            "https://",
            "https://a/?b",
            "https://a/#b",
            secret,
        ] {
            let failure = ApiUrl::read(text).unwrap_err();
            assert_eq!((failure.code.as_str(), failure.exit), ("MS-U053", Exit::Usage), "{text}");
            assert!(!failure.to_string().contains("hunter2"), "{failure}");
        }
    }

    #[test]
    fn a_token_goes_in_the_clear_to_this_host_alone_unless_it_is_said() {
        for (text, kept) in [
            ("https://games.example", true),
            ("http://localhost:7420", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:7420", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://games.example", false),
            ("http://localhost.games.example", false),
            ("http://10.0.0.1:7420", false),
            ("http://[2001:db8::1]", false),
        ] {
            let url = ApiUrl::read(text).unwrap();
            let judged = url.keeps_a_secret(PlainHttp::Loopback);
            assert_eq!(judged.is_ok(), kept, "{text}");
            assert!(judged.is_ok() || judged.unwrap_err().code == "MS-U054");
            assert_eq!(url.keeps_a_secret(PlainHttp::Anywhere), Ok(()));
        }
    }
}
