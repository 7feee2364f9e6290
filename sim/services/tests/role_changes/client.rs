//! A client that sends one request at a time.

use std::time::Duration;

use locklab_world::{Host, HostId, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The port of every server.
pub const PORT: u16 = 6379;

/// A connection to a server.
pub struct Client(TcpStream);

impl Client {
    /// Connects as soon as the server listens.
    pub async fn connect(host: &Host, server: HostId) -> Self {
        loop {
            match host.connect(server, PORT).await {
                Ok(stream) => {
                    // turmoil-net loses data that arrives with the end of the handshake.
                    host.sleep(Duration::from_millis(1)).await;
                    return Client(stream);
                }
                // The server may still be starting.
                Err(_) => host.sleep(Duration::from_millis(1)).await,
            }
        }
    }

    /// Sends a line and returns the reply; empty if the connection has ended.
    pub async fn ask(&mut self, line: &str) -> String {
        let sent = self.0.write_all(format!("{line}\r\n").as_bytes()).await;
        let mut bytes = [0; 4096];
        let count = match sent {
            Ok(()) => self.0.read(&mut bytes).await.unwrap_or(0),
            Err(_) => 0,
        };
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }
}
