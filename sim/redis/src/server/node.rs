//! One node behind a listener: its connections, its master, its clock, its shutdown.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{self, IpAddr};
use std::panic;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use tokio::net::lookup_host;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::{JoinSet, spawn_local, yield_now};
use tokio::time::sleep;

use super::Surroundings;
use super::news::{News, Place};
use super::other_clients::SocketClients;
use super::sockets::{Rest, Socket, Sockets, connect};
use crate::endpoint::{self, Action, Endpoint, Expiry, Limits, MAX_SLEEP, Now};
use crate::engine::{Addresses, ConnId, Node};

/// The most bytes per read, about as many as Redis reads. A client that has sent more waits for the other clients.
const READ_BYTES: usize = 20 << 10;

/// The most connections that are accepted at once: `MAX_ACCEPTS_PER_CALL`.
const MAX_ACCEPTS: usize = 1000;

/// The pause before the next accept when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Serves a node until a client calls SHUTDOWN or `stop` is signalled.
///
/// # Errors
///
/// If the listener cannot be registered with the event loop.
///
/// # Panics
///
/// If the node panics.
pub(super) async fn serve(
    listener: net::TcpListener,
    node: Node,
    around: Surroundings,
) -> io::Result<()> {
    let stop = around.stop.clone();
    listener.set_nonblocking(true)?;
    let ip = listener.local_addr()?.ip();
    let news = News::new(TcpListener::from_std(listener))?;
    let any_news = news.any()?;
    let (connect, mut connects) = mpsc::unbounded_channel();
    let sockets = around.machine.sockets().clone();
    sockets.begin(news.registry()?);
    let news = Rc::new(RefCell::new(news));
    let server = Rc::new(Server {
        endpoint: RefCell::new(Endpoint::new(node, Limits::default(), Expiry::Always)),
        sockets: sockets.clone(),
        news: news.clone(),
        ip,
        around,
        buffer: RefCell::new(vec![0; READ_BYTES]),
        connect,
        called: Notify::new(),
        exit: Notify::new(),
        shut_down: Cell::new(false),
    });
    if let Some(watch) = &server.around.watcher.0 {
        server.endpoint.borrow_mut().note_changes();
        watch.begins(server.endpoint.borrow().node());
    }
    let other_clients = SocketClients::new(sockets, news, &server.around);
    server.endpoint.borrow_mut().attend(other_clients);
    let mut tasks = JoinSet::new();
    tasks.spawn_local(server.clone().run_timer());
    tasks.spawn_local(server.clone().keep_pauses());
    while !server.shut_down.get() {
        tokio::select! {
            biased;
            () = server.exit.notified() => {}
            () = stop.signalled() => return Ok(()),
            Some(ended) = tasks.join_next() => {
                // The runtime caught the panic; it must not be ignored.
                if let Err(Ok(panicked)) = ended.map_err(|error| error.try_into_panic()) {
                    panic::resume_unwind(panicked);
                }
            }
            Some(master) = connects.recv() => {
                tasks.spawn_local(server.clone().follow(master));
            }
            () = server.sockets.arrived.notified() => server.accept_waiting(),
            any = any_news.readable() => {
                let mut any = any?;
                if server.news.borrow_mut().look() {
                    any.clear_ready();
                }
                server.attend();
                // The timer has its turn.
                yield_now().await;
            }
        }
    }
    Ok(())
}

/// A request to connect to the node's master.
struct Master {
    conn: ConnId,
    host: String,
    port: u16,
}

struct Server {
    endpoint: RefCell<Endpoint>,
    sockets: Arc<Sockets>,
    news: Rc<RefCell<News>>,
    /// The address that the node listens on and connects from.
    ip: IpAddr,
    around: Surroundings,
    /// The read buffer of all connections.
    buffer: RefCell<Vec<u8>>,
    /// Requests for connections.
    connect: UnboundedSender<Master>,
    /// Signals that the node was called, so its next deadline may be earlier.
    called: Notify,
    exit: Notify,
    shut_down: Cell<bool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.sockets.end();
    }
}

impl Server {
    /// Handles what has happened, in that order. News that comes while the node sleeps waits until the timer wakes it.
    fn attend(self: &Rc<Self>) {
        while !self.shut_down.get() && !self.around.stop.is_signalled() && !self.is_asleep() {
            // Not borrowed any more: a script hears of its other clients from there, too.
            let place = self.news.borrow_mut().next();
            match place {
                Some(Place::Listener) => self.accept(),
                Some(Place::Client(conn)) => self.serve_client(conn),
                None => return,
            }
        }
    }

    /// Accepts the connections that wait.
    fn accept(self: &Rc<Self>) {
        for _ in 0..MAX_ACCEPTS {
            let accepted = self.news.borrow().listener.accept();
            match accepted {
                Ok((stream, _)) => {
                    let addresses = self.sockets.lock().accepted(stream);
                    self.accept_client(addresses);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    let server = self.clone();
                    spawn_local(async move {
                        sleep(ACCEPT_PAUSE).await;
                        server.news.borrow_mut().watch_listener();
                    });
                    return;
                }
            }
        }
        self.news.borrow_mut().watch_listener();
    }

    /// Accepts the connections that another thread has lent.
    fn accept_waiting(&self) {
        loop {
            let Some(addresses) = self.sockets.lock().accept_waiting() else {
                return;
            };
            self.accept_client(addresses);
        }
    }

    /// Accepts the newest connection, unless there are too many.
    fn accept_client(&self, addresses: Addresses) {
        let accepted = (self.endpoint.borrow_mut()).accept(addresses, self.now());
        self.sockets.lock().begin_newest(accepted);
    }

    /// Connects to the node's master.
    async fn follow(self: Rc<Self>, master: Master) {
        let conn = master.conn;
        let Ok(stream) = self.open(&master).await else {
            self.endpoint.borrow_mut().closed(conn);
            self.called.notify_one();
            return;
        };
        self.sockets.lock().begin(conn, Socket::new(stream));
        self.endpoint.borrow_mut().connected(conn, self.now());
        self.execute_effects();
    }

    async fn open(&self, master: &Master) -> io::Result<TcpStream> {
        let mut addresses = lookup_host((&*master.host, master.port)).await?;
        let address = addresses.next().ok_or(io::ErrorKind::NotFound)?;
        // The master sees which replica it is.
        let stream = connect(self.ip, address).await?;
        Ok(TcpStream::from_std(stream.into_std()?))
    }

    /// The time of what the node does next; it does nothing while it is paused.
    fn now(&self) -> Now {
        self.around.machine.stand_still(&self.around.stop);
        self.around.machine.now()
    }

    fn is_asleep(&self) -> bool {
        let now = self.around.machine.now();
        self.endpoint.borrow_mut().asleep_for(now).is_some()
    }

    async fn keep_pauses(self: Rc<Self>) {
        self.around.machine.keep_pauses(&self.around.stop).await;
    }

    /// Sends what waits for a client, then reads once.
    fn serve_client(&self, conn: ConnId) {
        self.flush(conn);
        // The node may have closed it, now that all output is sent.
        self.execute_effects();
        if self.endpoint.borrow().is_closing(conn) {
            return;
        }
        let mut buffer = self.buffer.borrow_mut();
        let read = match self.sockets.lock().open.get(&conn) {
            Some(socket) => (&socket.stream).read(&mut buffer),
            None => return,
        };
        match read {
            Ok(count @ 1..) => {
                let now = self.now();
                let mut endpoint = self.endpoint.borrow_mut();
                let watch = self.around.watcher.0.as_ref();
                if let Some(watch) = watch {
                    let changed = endpoint.take_changed();
                    watch.arrives(conn, &buffer[..count], &changed, endpoint.node(), now);
                }
                endpoint.receive(conn, &buffer[..count], now);
                if let Some(watch) = watch {
                    let changed = endpoint.take_changed();
                    watch.executed(conn, &changed, endpoint.node());
                }
                drop(endpoint);
                self.execute_effects();
                self.called.notify_one();
                // There may be more, or the end of the connection.
                self.sockets.lock().watch(conn);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // As in Redis, a client that closes its sending side is disconnected.
            _ => self.lose(conn),
        }
    }

    /// Sends what a connection takes; there is news of it when it takes the rest.
    fn flush(&self, conn: ConnId) {
        let mut endpoint = self.endpoint.borrow_mut();
        let mut sockets = self.sockets.lock();
        let Some(socket) = sockets.open.get(&conn) else {
            return;
        };
        let mut rest = Rest::None;
        while rest == Rest::None
            && let Some(bytes) = endpoint.unwritten(conn)
        {
            match (&socket.stream).write(bytes) {
                Ok(count) => endpoint.wrote(conn, count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    endpoint.wrote(conn, 0);
                    rest = Rest::Endpoint;
                }
                Err(_) => {
                    drop((endpoint, sockets));
                    return self.lose(conn);
                }
            }
        }
        sockets.keep_rest(conn, rest);
    }

    /// Forgets a connection that has ended.
    fn lose(&self, conn: ConnId) {
        self.endpoint.borrow_mut().closed(conn);
        self.end(conn);
        self.called.notify_one();
    }

    /// Closes a connection.
    fn end(&self, conn: ConnId) {
        self.sockets.lock().open.remove(&conn);
    }

    fn execute_effects(&self) {
        let [newcomers, leavers] = self.sockets.lock().take_changes();
        for conn in newcomers {
            self.endpoint.borrow_mut().accepted(conn);
        }
        for conn in leavers {
            self.lose(conn);
        }
        loop {
            let Some(action) = self.endpoint.borrow_mut().poll() else {
                return;
            };
            match action {
                Action::Write { conn } => self.flush(conn),
                // `serve_client` asks the endpoint whether it may read.
                Action::StopReading { .. } => {}
                Action::Close { conn } => self.end(conn),
                Action::Connect { conn, host, port } => {
                    // If the receiver is gone, the node is about to end.
                    let _ = self.connect.send(Master { conn, host, port });
                }
                Action::Disk(write) => {
                    // Once it is to stop, a script may be incomplete.
                    if !self.around.stop.is_signalled() {
                        self.around.machine.write(write);
                    }
                }
                Action::Exit => {
                    self.shut_down.set(true);
                    self.exit.notify_one();
                }
            }
        }
    }

    /// Wakes the node whenever something is due. It checks after each round of clients, not
    /// after each request.
    async fn run_timer(self: Rc<Self>) {
        loop {
            let now = self.now();
            let next_us = self.endpoint.borrow_mut().next_wake_us(now);
            let Some(wake_us) = next_us else {
                self.called.notified().await;
                continue;
            };
            if now.wall_us >= wake_us {
                self.endpoint.borrow_mut().wake(now);
                self.execute_effects();
                // A script that ran may have been ended amid what its other clients had sent.
                self.attend();
                yield_now().await;
                continue;
            }
            let machine = &self.around.machine;
            let asleep_for = self.endpoint.borrow_mut().asleep_for(now);
            let nap = asleep_for
                .unwrap_or_else(|| machine.true_time(endpoint::sleep(wake_us, now.wall_us)));
            tokio::select! {
                biased;
                () = self.called.notified() => {}
                () = machine.clock_set() => {}
                () = sleep(nap.min(MAX_SLEEP)) => {}
            }
        }
    }
}
