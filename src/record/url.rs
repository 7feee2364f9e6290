//! The address of a Redis server: `redis://user:password@host:port/database`.

use std::fmt;

/// Redis's own port.
const PORT: u16 = 6379;

/// Where a server is, and how to log in. It is shown without its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user; without one it is Redis's default user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The number of the database.
    pub database: u32,
}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// If it has another form. The message does not repeat it, since it may have a password.
    pub fn parse(text: &str) -> Result<Url, String> {
        let usage = || {
            "write redis://user:password@host:port/database; all but the host may be left out"
                .to_owned()
        };
        if text.starts_with("rediss://") {
            return Err("TLS is not supported; connect through a tunnel, such as stunnel, and write redis://".into());
        }
        let rest = text.strip_prefix("redis://").ok_or_else(usage)?;
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let (place, database) = place.split_once('/').unwrap_or((place, ""));
        let database = match database {
            "" => 0,
            number => number.parse().map_err(|_| usage())?,
        };
        let (host, port) = host_and_port(place).ok_or_else(usage)?;
        let (user, password) = match login.map(|login| login.split_once(':')) {
            None => ("", ""),
            Some(Some(both)) => both,
            // Without a colon it is the password, as in redis-cli.
            Some(None) => ("", login.unwrap_or_default()),
        };
        let decoded = |text: &str| match text {
            "" => Ok(None),
            text => decoded(text).map(Some).ok_or_else(usage),
        };
        Ok(Url {
            host: host.to_owned(),
            port,
            user: decoded(user)?,
            password: decoded(password)?,
            database,
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "redis://[{}]:{}", self.host, self.port),
            false => write!(f, "redis://{}:{}", self.host, self.port),
        }
    }
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(place: &str) -> Option<(&str, u16)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let port = match port {
        "" => PORT,
        port => port.strip_prefix(':')?.parse().ok()?,
    };
    (!host.is_empty()).then_some((host, port))
}

/// The text with `%40` and the like in place of what has a meaning in a URL.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let [high, low] =
                    [rest.next()?, rest.next()?].map(|it| char::from(it).to_digit(16));
                u8::try_from(high? * 16 + low?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_may_be_left_out_but_the_host() {
        let parse = |text: &str| {
            let url = Url::parse(text).ok()?;
            Some((url.to_string(), url.user, url.password, url.database))
        };
        let some = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("redis://r1", ("redis://r1:6379", None, None, 0)),
            ("redis://r1:7000/2", ("redis://r1:7000", None, None, 2)),
            (
                "redis://:secret@r1",
                ("redis://r1:6379", None, some("secret"), 0),
            ),
            (
                "redis://secret@r1",
                ("redis://r1:6379", None, some("secret"), 0),
            ),
            (
                "redis://me:p%40ss%3a@[::1]:1",
                ("redis://[::1]:1", some("me"), some("p@ss:"), 0),
            ),
        ] {
            let (shown, user, password, database) = expected;
            assert_eq!(
                parse(text),
                Some((shown.to_owned(), user, password, database)),
                "{text}"
            );
        }
        for text in [
            "",
            "r1:6379",
            "redis://",
            "redis://r1:port",
            "redis://r1/x",
            "redis://%zz@r1",
            "redis://[::1",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
        let refused = Url::parse("rediss://:secret@r1").expect_err("TLS");
        assert!(
            refused.contains("tunnel") && !refused.contains("secret"),
            "{refused}"
        );
    }
}
