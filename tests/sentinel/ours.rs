//! A sentinel of the laboratory over real TCP, so that it can watch real servers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use locklab_redis::sentinel::{
    Address, ConnId, Effect, LinkId, Monitor, Sentinel, SentinelConfig, SentinelFile, Uptime,
};
use locklab_values::random::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::spawn_local;

/// A sentinel's configuration file.
pub type File = Rc<RefCell<Option<SentinelFile>>>;

/// Runs a sentinel on the loopback until the test ends.
pub async fn serve(listener: TcpListener, monitor: Monitor, file: File) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let mut stream = Stream::new(u64::from(port), "sentinel");
    let config = SentinelConfig {
        announce: Address {
            host: "127.0.0.1".into(),
            port,
        },
        monitor: vec![monitor],
        file: file.borrow().clone(),
        uptime: Uptime::Zero,
        random: Box::new(move |n| stream.below(n)),
    };
    let driver = Rc::new(Driver {
        sentinel: RefCell::new(Sentinel::new(config, now_ms())),
        clients: RefCell::default(),
        links: RefCell::default(),
        file,
    });
    spawn_local(driver.clone().keep_time());
    loop {
        let (stream, _) = listener.accept().await?;
        let conn = driver.sentinel.borrow_mut().accept();
        let (reader, writer) = stream.into_split();
        driver.clients.borrow_mut().insert(conn, outbox(writer));
        spawn_local(driver.clone().converse(conn, reader));
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as i64)
}

struct Driver {
    sentinel: RefCell<Sentinel>,
    clients: RefCell<BTreeMap<ConnId, UnboundedSender<Bytes>>>,
    links: RefCell<BTreeMap<LinkId, UnboundedSender<Bytes>>>,
    file: File,
}

/// Sends the queued data; closes the connection when sending fails.
fn outbox(mut writer: OwnedWriteHalf) -> UnboundedSender<Bytes> {
    let (sender, mut receiver) = mpsc::unbounded_channel::<Bytes>();
    spawn_local(async move {
        while let Some(bytes) = receiver.recv().await {
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    sender
}

impl Driver {
    async fn converse(self: Rc<Self>, conn: ConnId, mut reader: OwnedReadHalf) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes).await {
            let mut effects = Vec::new();
            let mut sentinel = self.sentinel.borrow_mut();
            sentinel.receive(conn, &bytes[..count], now_ms(), &mut effects);
            drop(sentinel);
            self.carry_out(effects);
        }
        self.sentinel.borrow_mut().closed(conn);
        self.clients.borrow_mut().remove(&conn);
    }

    async fn keep_link(
        self: Rc<Self>,
        link: LinkId,
        to: Address,
        mut early: mpsc::UnboundedReceiver<Bytes>,
    ) {
        let address: Option<SocketAddr> = format!("{}:{}", to.host, to.port).parse().ok();
        if let Some(address) = address
            && let Ok(stream) = TcpStream::connect(address).await
        {
            let (mut reader, mut writer) = stream.into_split();
            let sending = async {
                while let Some(bytes) = early.recv().await {
                    writer.write_all(&bytes).await?;
                }
                io::Result::Ok(())
            };
            let receiving = async {
                let mut bytes = [0; 16384];
                while let Ok(count @ 1..) = reader.read(&mut bytes).await {
                    let mut effects = Vec::new();
                    let mut sentinel = self.sentinel.borrow_mut();
                    sentinel.link_received(link, &bytes[..count], now_ms(), &mut effects);
                    drop(sentinel);
                    self.carry_out(effects);
                }
            };
            tokio::select! {
                biased;
                _ = sending => {}
                () = receiving => {}
            }
        }
        self.links.borrow_mut().remove(&link);
        self.sentinel.borrow_mut().link_closed(link, now_ms());
    }

    fn carry_out(self: &Rc<Self>, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Connect { link, to } => {
                    let (sender, receiver) = mpsc::unbounded_channel();
                    self.links.borrow_mut().insert(link, sender);
                    spawn_local(self.clone().keep_link(link, to, receiver));
                }
                Effect::Send { link, bytes } => {
                    self.links
                        .borrow()
                        .get(&link)
                        .map(|sender| sender.send(bytes));
                }
                Effect::Reply { conn, bytes } => {
                    self.clients
                        .borrow()
                        .get(&conn)
                        .map(|sender| sender.send(bytes));
                }
                Effect::Hangup { link } => drop(self.links.borrow_mut().remove(&link)),
                Effect::Close { conn } => drop(self.clients.borrow_mut().remove(&conn)),
                Effect::Write(file) => *self.file.borrow_mut() = Some(file),
                Effect::Event(_) => {}
            }
        }
    }

    async fn keep_time(self: Rc<Self>) {
        loop {
            let mut effects = Vec::new();
            let next_ms = {
                let mut sentinel = self.sentinel.borrow_mut();
                sentinel.wake(now_ms(), &mut effects);
                sentinel.next_wake_ms()
            };
            self.carry_out(effects);
            let left_ms = (next_ms - now_ms()).clamp(1, 100) as u64;
            tokio::time::sleep(Duration::from_millis(left_ms)).await;
        }
    }
}
