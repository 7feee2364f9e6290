//! Lua scripts: called by their hash, and by their text if a node does not know them.

use std::sync::OnceLock;

use sha1_smol::Sha1;

use super::client::{Client, Error};
use super::connection::Reply;
use crate::Env;

/// A script and its SHA1.
pub struct Script {
    text: fn() -> &'static str,
    /// Computed when it is first needed, once for all clients.
    sha1: OnceLock<String>,
}

impl Script {
    /// The script with this text.
    pub const fn new(text: fn() -> &'static str) -> Self {
        Self {
            text,
            sha1: OnceLock::new(),
        }
    }

    /// Runs the script: `EVALSHA`, and after `NOSCRIPT` once more with `EVAL`.
    pub async fn call<E: Env>(
        &self,
        client: &Client<E>,
        keys: &[&[u8]],
        arguments: &[&[u8]],
    ) -> Result<Reply, Error> {
        let sha1 = self
            .sha1
            .get_or_init(|| Sha1::from((self.text)()).digest().to_string());
        let count = keys.len().to_string();
        let mut command: Vec<&[u8]> = vec![b"EVALSHA", sha1.as_bytes(), count.as_bytes()];
        command.extend(keys);
        command.extend(arguments);
        match client.call(&command).await {
            Err(Error::Refused { text, .. }) if text.starts_with("NOSCRIPT") => {
                command[0] = b"EVAL";
                command[1] = (self.text)().as_bytes();
                client.call(&command).await
            }
            other => other,
        }
    }

    /// Runs the script and converts its reply with `read`.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub async fn ask<T, E: Env>(
        &self,
        client: &Client<E>,
        keys: &[&[u8]],
        arguments: &[&[u8]],
        read: impl FnOnce(&Reply) -> Option<T>,
    ) -> Result<T, Error> {
        let reply = self.call(client, keys, arguments).await?;
        client.convert(b"EVALSHA", &reply, read)
    }
}
